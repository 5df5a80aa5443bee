internal import ControlProtocol
internal import NetworkMessages
internal import Reachability
internal import RingwakeCore

// Who is told of the network.
extension Daemon {
    /// Has every change of the network told to those who listen, and to the handlers of the calls that it concerns.
    func tellOfNetwork() {
        network.onPath = { [runner] path in runner.networkChanged(to: PathMessage(path)) }
        network.onConnection = { [unowned network, events] status in
            events.publish(EventMessage(connection: status, of: nil), of: nil)
            // Who listens to an app without targets hears of the daemon's status, which is the app's.
            for app in events.namedApps where !network.hasTargets(app) {
                events.publish(EventMessage(connection: status, of: app), of: app, isNamed: true)
            }
        }
        network.onAppConnection = { [events] app, status in
            events.publish(EventMessage(connection: status, of: app), of: app)
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
