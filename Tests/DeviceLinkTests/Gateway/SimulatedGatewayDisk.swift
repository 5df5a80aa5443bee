import DeviceLink
import RingwakeCore

/// The store of a simulated gateway. It does its work in the order of the requests, some time later; it may fail, and it
/// may be cut off at any point.
struct SimulatedGatewayDisk {
    enum Work {
        case append(DeviceID, LinkPush, replacing: [MailKey])
        case remove([MailKey])
        case read(DeviceID, [MailKey])
        case store(DeviceID, DeviceRecord?, DeviceChange)
    }

    private struct Row {
        let device: DeviceID
        let push: LinkPush
    }

    private(set) var records: [DeviceID: DeviceRecord] = [:]
    /// In the order in which they were written.
    private var rows: [Row] = []
    private(set) var work: [Work] = []
    /// Rows that others took the place of.
    private(set) var replaced: Set<MailKey> = []
    /// The number of rows ever written.
    private(set) var appendCount = 0

    var rowCount: Int { rows.count }
    func has(_ key: MailKey) -> Bool { rows.contains { $0.push.key == key } }

    init(_ records: [DeviceRecord]) {
        for record in records { self.records[record.id] = record }
    }

    mutating func request(_ work: Work) { self.work.append(work) }

    /// Does the next work.
    ///
    /// - Parameter fails: the disk refuses it.
    /// - Returns: the report for the gateway, if there is one.
    mutating func advance(fails: Bool) -> LinkGatewayEvent? {
        switch work.removeFirst() {
        case .append(let device, let push, let replaced):
            if !fails {
                rows.removeAll { replaced.contains($0.push.key) }
                self.replaced.formUnion(replaced)
                rows.append(Row(device: device, push: push))
                appendCount += 1
            }
            return .committed(device, push.key, isDurable: !fails)
        case .remove(let keys):
            rows.removeAll { keys.contains($0.push.key) }
            return nil
        case .read(let device, let keys):
            guard !fails else { return .read(device, keys, nil) }
            var found: [MailKey: Mailbox.StoredPayload] = [:]
            for row in rows where keys.contains(row.push.key) {
                found[row.push.key] = Mailbox.StoredPayload(content: row.push.content, bytes: row.push.payload)
            }
            return .read(device, keys, found)
        case .store(let device, let record, let change):
            if !fails { records[device] = record }
            return .stored(change, isDurable: !fails)
        }
    }

    /// The power fails: what was not done is never done.
    mutating func cut() { work = [] }

    /// What a gateway finds when it starts: the rows without their payloads.
    var mail: [(device: DeviceID, push: LinkPush, payloadBytes: Int)] {
        rows.map { row in
            var push = row.push
            push.payload = []
            return (row.device, push, row.push.payload.count)
        }
    }
}
