import ControlProtocol

/// The network.
enum NetworkCheck {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let name = "network"
        guard let status = facts.status else { return [] }
        guard let connection = status.connection else {
            return [
                .note(
                    name, "the network is not watched" + (status.reachability.why.map { ": \($0)" } ?? ""),
                    hint: facts.role == "gateway"
                        ? "pushes are taken nevertheless"
                        : "calls ring nevertheless; handlers are not notified of changes")
            ]
        }
        let why = connection.why.map { " (\($0))" } ?? ""
        guard connection.status == "offline" else { return [.ok(name, connection.status + why)] }
        return [
            .warning(
                name, "this machine is offline\(why), so senders elsewhere do not reach it",
                hint: "'ringwake reachability' shows what is missing")
        ]
    }
}

/// The link to the gateway is there.
enum LinkCheck {
    private static let name = "link"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status else { return [] }
        guard let link = status.link else {
            guard facts.role == "device" else { return [] }
            return [
                .problem(
                    name, "the device is not paired with a gateway, so no push reaches it",
                    hint: "run 'ringwake gateway invite' on the gateway, and 'ringwake link pair' here")
            ]
        }
        if let problem = link.problem {
            let isWaiting = link.reset?.isWaiting ?? false
            let hint = isWaiting ? "run 'ringwake link reset --now'; " : ""
            return [.problem(name, problem, hint: hint + "'ringwake link status' says more")]
        }
        let gateway = link.gateway ?? ""
        switch link.state {
        case LinkMessage.State.linked.rawValue: return [.ok(name, "linked to \(gateway)")]
        case LinkMessage.State.unreachable.rawValue:
            return [
                .problem(
                    name, "there is no way to the gateway \(gateway)",
                    hint: "'ringwake reachability' shows where it ends: the name, the route, or the network")
            ]
        default:
            let why = link.lastEnd.map { ": \($0.why)" } ?? ""
            return [
                .problem(
                    name, "not linked to \(gateway)\(why)",
                    hint: "if the certificate is refused, or nothing answers, look at 'ringwake gateway status' there")
            ]
        }
    }
}

/// Devices reach this gateway, and so do their senders.
enum GatewayCheck {
    private static let name = "gateway"

    static func findings(_ facts: DoctorFacts) -> [Finding] {
        guard let status = facts.status else { return [] }
        guard let gateway = status.gateway else { return absence(facts, status) }
        let devices = gateway.devices == 1 ? "1 device" : "\(gateway.devices) devices"
        let counts = "\(devices), \(gateway.online) online"
        if gateway.address == nil, !gateway.onPushPorts {
            return [
                .problem(
                    name, "the port for links is not open, so no device can link; \(counts)",
                    hint: "set 'listen' in [gateway], see the daemon's log, and restart the daemon")
            ]
        }
        if status.listeners.isEmpty {
            return [
                .problem(name, "no port for pushes is open, so no sender reaches it; \(counts)", hint: PortCheck.remedy)
            ]
        }
        if let time = gateway.drainedMs {
            let since = DurationText.long(milliseconds: time)
            return [
                .warning(
                    name, "it has been drained for \(since): it takes no links, and pushes wait; \(counts)",
                    hint: "run 'ringwake gateway drain --off'")
            ]
        }
        let ports = [gateway.address, gateway.onPushPorts ? "the ports for pushes" : nil].compactMap { $0 }
        let known = gateway.publicAddress.map { ", which they know as \($0)" } ?? ""
        return [.ok(name, "devices link to \(ports.joined(separator: " and "))\(known); \(counts)")]
    }

    /// A daemon that is no gateway, although it is configured as one.
    private static func absence(_ facts: DoctorFacts, _ status: StatusMessage) -> [Finding] {
        let settings = facts.configuration?.settings ?? []
        let isConfigured = settings.contains {
            $0.file != nil && ($0.key == "gateway.listen" || $0.key == "gateway.on_push_ports" && $0.value == "true")
        }
        guard facts.role == "gateway" || isConfigured else { return [] }
        let hint = status.journal.state == "working" ? "restart the daemon, and see its log" : "see 'store' below"
        return [
            .problem(name, "no device can link: the daemon is configured as a gateway, and is none now", hint: hint)
        ]
    }
}
