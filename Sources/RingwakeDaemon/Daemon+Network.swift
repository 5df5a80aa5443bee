internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore

// Who is told of the network.
extension Daemon {
    /// Has every change of the network told to those who listen, and to the handlers of the calls that it concerns.
    func publishNetwork() {
        network.onPath = { [calls] path in calls.submit(.pathChanged(PathMessage(path))) }
        network.onConnection = { [unowned network, calls] status in
            calls.publish(EventMessage(connection: status, of: nil), to: .unfiltered)
            // For streams of an app without targets the daemon's status is the app's.
            for app in calls.service.subscriptions.namedApps where !network.hasTargets(app) {
                calls.publish(EventMessage(connection: status, of: app), to: .app(app, isNamed: true))
            }
        }
        network.onAppConnection = { [calls] app, status in
            calls.publish(EventMessage(connection: status, of: app), to: .app(app))
        }
        calls.connectionEvents = { [unowned network, unowned calls] app in
            if let app {
                guard calls.configuration.apps[app] != nil, let status = network.connection(of: app) else { return [] }
                return [EventMessage(connection: status, of: app)]
            }
            let apps = network.appsWithTargets.compactMap { app in
                network.connection(of: app).map { EventMessage(connection: $0, of: app) }
            }
            return (network.connection.map { [EventMessage(connection: $0, of: nil)] } ?? []) + apps
        }
    }
}

extension NetworkWatch {
    /// Whether an app is connected, with its targets where it names some; nil when the network is not watched.
    func message(of app: AppID) -> ConnectionMessage? {
        let targets = reachability(of: app).map { TargetMessage($0.0, $0.1) }
        return connection(of: app).map { ConnectionMessage($0, targets: hasTargets(app) ? targets : nil) }
    }
}
