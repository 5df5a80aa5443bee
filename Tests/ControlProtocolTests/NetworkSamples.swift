import ControlProtocol
import NetworkMessages
import Reachability
import RingwakeCore

/// What the messages about the network are made of in the samples.
enum NetworkSamples {
    private static let wlan = NetworkInterface(index: 3, name: "wlan0", type: .wifi)
    private static let wwan = NetworkInterface(index: 7, name: "wwan0", type: .cellular)

    private static func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }

    static let path = PathMessage(
        NetworkPath(
            status: .satisfied, interfaces: [wlan, wwan], gateways: addresses("192.0.2.1", "fe80::1%wlan0"),
            sources: addresses("192.0.2.7", "2001:db8::7"), supportsIPv4: true, supportsIPv6: true, supportsDNS: true))

    static let noPath = PathMessage(NetworkPath(status: .unsatisfied, unsatisfiedReason: .noRoute))

    static let modems = [
        TelephonyMessage.Modem(
            id: "0", operatorName: "Example", mobileCountryCode: "262", mobileNetworkCode: "01",
            registration: "roaming", roaming: true, radioAccessTechnology: "nrNSA"),
        TelephonyMessage.Modem(id: "1", registration: "searching"),
    ]

    static let reachable: TargetMessage = {
        var message = TargetMessage(
            .host("sip.example.org"),
            TargetReachability(
                flags: [.reachable, .transientConnection, .isWWAN], status: .satisfied, interface: wwan,
                source: IPAddress("192.0.2.7"), nextHop: IPAddress("192.0.2.1"), isExpensive: true,
                supportsIPv4: true, supportsDNS: true, addresses: addresses("198.51.100.7", "2001:db8:9::7")),
            resolvedAt: nil)
        message.resolvedAt = "2026-11-24T18:00:00.000Z"
        return message
    }()

    static let unreachable = TargetMessage(
        .any, TargetReachability(flags: [], status: .unsatisfied, unsatisfiedReason: .noRoute),
        resolvedAt: nil)

    static let online = ConnectionMessage(
        ConnectionStatus(network: .usable, hasNameServer: true, isConstrained: false))

    static let limited =
        ConnectionStatus(targets: [.usable, .unusable(reason: "noRoute")])
        .map { ConnectionMessage($0, targets: [reachable, unreachable]) }

    static let working: ReachabilityMessage = {
        var status = MonitorStatus()
        status.filterLevel = 3
        status.filterWhy = "Cannot allocate memory"
        status.messages = 12
        status.overruns = 1
        status.resynchronizations = 2
        status.evaluations = 9
        status.targets = 4
        return ReachabilityMessage(status)
    }()
}
