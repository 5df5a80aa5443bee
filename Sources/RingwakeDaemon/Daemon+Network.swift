internal import DaemonConfiguration
internal import CallService
internal import ControlProtocol
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore

// Publishes network changes.
extension Daemon {
    /// Publishes every network change to subscribed clients and to the handlers of the affected calls.
    func publishNetwork() {
        network.onPath = { [calls] path in calls.submit(.pathChanged(PathMessage(path))) }
        network.onConnection = { [unowned network, calls] status in
            calls.publish(EventMessage(connection: status, of: nil), to: .unfiltered)
            // An app without targets has the daemon's status.
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
    /// Connection status of an app at this moment, with its targets if it has any; nil if the network isn't monitored.
    /// - Parameter path: the path at this moment.
    func message(of app: AppID, on path: NetworkPath?) -> ConnectionMessage? {
        let targets = currentReachability(of: app)
        guard let status = ConnectionStatus(targets) else {
            return path.map { ConnectionMessage(ConnectionStatus($0)) }
        }
        return ConnectionMessage(
            status, targets: targets.map { TargetMessage($0.0, $0.1, resolvedAt: resolvedAt($0.0)) })
    }
}
