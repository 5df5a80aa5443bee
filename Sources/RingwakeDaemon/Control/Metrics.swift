internal import ControlProtocol
internal import DeviceLink
internal import HTTPServer
internal import LinkTransport
internal import MQTT5
internal import PushGateway
internal import PushJournal

// `GET /metrics`. Everything is counted or read where it is kept; nothing is done before somebody asks.
extension Daemon {
    /// The daemon's metrics. Each part of it adds its own.
    func metrics() -> MetricsText {
        var metrics = MetricsText()
        metrics.add(
            "ringwake_build_info", .gauge, "The version of ringwaked.", by: "version", [ProductVersion.current: 1])
        gateway.counters.add(to: &metrics)
        journal.add(to: &metrics)
        guard let links else { return metrics }
        links.add(to: &metrics)
        let listeners = (listeners?.providers.open ?? []).map(\.listener) + [self.listeners?.links].compactMap(\.self)
        metrics.add(
            "ringwake_gateway_handshakes_waiting", .gauge, "TLS handshakes that wait for their turn, on all ports.",
            UInt64(listeners.reduce(0) { $0 + $1.waitingHandshakes }))
        return metrics
    }
}

extension GatewayCounters {
    fileprivate func add(to metrics: inout MetricsText) {
        metrics.add("ringwake_pushes_accepted_total", .counter, "Pushes that were answered 200.", accepted)
        metrics.add(
            "ringwake_pushes_refused_total", .counter, "Pushes that were refused, by the reason in the answer.",
            by: "reason", refused)
    }
}

extension PushJournal {
    fileprivate func add(to metrics: inout MetricsText) {
        let statistics = statistics
        metrics.add(
            "ringwake_journal_working", .gauge,
            "1 while the journal can write; 0 while pushes are refused, and calls ring from memory or are missed.",
            health == .working ? 1 : 0)
        metrics.add(
            "ringwake_journal_bytes", .gauge, "The size of the store and its log.", UInt64(clamping: statistics.bytes))
        metrics.add(
            "ringwake_journal_commits_total", .counter, "Transactions that are on the disk.", statistics.commits)
        metrics.add(
            "ringwake_journal_failed_commits_total", .counter, "Transactions that failed; nothing of them was kept.",
            statistics.failedCommits)
        metrics.add(
            "ringwake_journal_gave_way_total", .counter, "Pushes and calls removed because the disk was full.",
            UInt64(clamping: statistics.gaveWay))
    }
}

extension GatewayLinks {
    fileprivate func add(to metrics: inout MetricsText) {
        let devices = machine.directory.devices.values
        let (gone, online) = (devices.count { $0.revokedAt != nil }, machine.onlineCount)
        let offline = max(0, devices.count - gone - online)
        let unproven = server.unprovenCount
        metrics.add(
            "ringwake_gateway_devices", .gauge, "Devices, by state.", by: "state",
            ["online": UInt64(online), "offline": UInt64(offline), "revoked": UInt64(gone)])
        metrics.add(
            "ringwake_gateway_links", .gauge,
            "Open connections: of admitted devices, and those that have proven nothing or pair or probe.", by: "state",
            ["admitted": UInt64(server.count - unproven), "unproven": UInt64(unproven)])
        metrics.add(
            "ringwake_gateway_drained", .gauge, "1 if the gateway is drained and takes no links.",
            machine.drainedSince == nil ? 0 : 1)
        metrics.add("ringwake_gateway_links_made_total", .counter, "Links that were made.", counters.linked)
        metrics.add("ringwake_gateway_links_ended_total", .counter, "Links that ended.", counters.unlinked)
        metrics.add(
            "ringwake_gateway_links_refused_total", .counter,
            "Connections and pairings that were refused, by the MQTT reason code.", by: "code",
            Dictionary(uniqueKeysWithValues: counters.refusedByReason.map { ($0.key.hex, $0.value) }))
        metrics.add(
            "ringwake_gateway_pushes_total", .counter,
            "Pushes for linked devices that were answered 200: forwarded (the device has it, nothing was written) or queued.",
            by: "outcome", ["forwarded": counters.forwarded, "queued": counters.queued])
        metrics.add(
            "ringwake_gateway_pushes_settled_total", .counter,
            "Pushes that devices have answered, with any reason code.", counters.acknowledged)
        metrics.add(
            "ringwake_gateway_pushes_dropped_total", .counter, "Pushes that ended without reaching their app.",
            counters.dropped)
        metrics.add(
            "ringwake_gateway_push_acknowledgement_seconds",
            "From a push's arrival to its device's acknowledgement, also for devices that were away.",
            counters.acknowledgementTimes)
        metrics.add(
            "ringwake_gateway_mailbox_pushes", .gauge, "Pushes that wait for their devices.", UInt64(machine.mailCount))
        metrics.add(
            "ringwake_gateway_mailbox_bytes", .gauge, "Bytes of the payloads of waiting pushes.",
            UInt64(machine.mailBytes))
        metrics.add(
            "ringwake_gateway_receipts", .gauge, "Pushes of the last day of which the gateway knows what became.",
            UInt64(receiptCount))
    }
}

extension MQTTReason {
    /// As the standard and link.md write it.
    fileprivate var hex: String { "0x" + String(rawValue, radix: 16, uppercase: true) }
}
