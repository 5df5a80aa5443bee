import CRingwakeSQLite
import PushJournal
import RingwakeCore
import Testing

/// What a journal is to do, done with dictionaries.
private struct JournalModel {
    struct Push: Hashable {
        let record: PushRecord
        let identity: String
    }

    private(set) var pushes: [Push] = []
    private(set) var calls: [Int64: CallRecord] = [:]
    private(set) var payloads: [Int64: [UInt8]] = [:]
    /// Records that no commit has taken yet.
    private var pending: [Int64: CallRecord] = [:]

    private func number(of key: CallKey) -> Int64? {
        calls.values.first { $0.key == key }?.number
    }

    mutating func append(_ push: PushRecord, payload: [UInt8], call: CallRecord?) -> PushVerdict {
        let identity = "\(push.pushID.lowercased()) \(push.app) \(push.provenance)"
        let known = pushes.first { $0.identity == identity }
        let isNew = known == nil
        if isNew { pushes.insert(Push(record: push, identity: identity), at: 0) }
        var verdict = isNew ? PushVerdict.new : .repeated
        if let call {
            if let known, known.record.call != push.call {
                // One push is about one call.
                verdict = .callKnown
            } else if let owner = number(of: call.key), owner != call.number {
                verdict = .callKnown
            } else {
                if calls[call.number] == nil {
                    calls[call.number] = call
                    pending[call.number] = nil
                }
                if calls[call.number]?.state != .ended, (payloads[call.number] ?? []).isEmpty {
                    payloads[call.number] = payload
                }
            }
        }
        commit()
        return verdict
    }

    mutating func ring(_ call: CallRecord) -> RingVerdict {
        defer { commit() }
        if let owner = number(of: call.key), owner != call.number { return .callKnown }
        // What has ended stays so.
        if calls[call.number]?.state != .ended { calls[call.number] = call }
        pending[call.number] = nil
        return .recorded
    }

    mutating func write(_ call: CallRecord) {
        pending[call.number] = call
    }

    mutating func commit() {
        for call in pending.values.sorted(by: { $0.number < $1.number }) {
            let isKnown = calls[call.number] != nil
            guard calls[call.number]?.state != .ended || call.state == .ended else { continue }
            if call.hasRung || call.state == .ended {
                if isKnown || number(of: call.key) == nil { calls[call.number] = call }
                if call.state == .ended { payloads[call.number] = nil }
            } else if isKnown {
                calls[call.number] = call
            }
        }
        pending = [:]
    }

    var open: [StoredCall] {
        calls.values.filter { $0.state != .ended }.sorted { $0.number < $1.number }
            .map { StoredCall(record: $0, payload: payloads[$0.number] ?? [], isTimeKnown: true) }
    }

    var newestCalls: [CallRecord] { calls.values.sorted { $0.number > $1.number } }
}

@Suite("The journal against a model")
struct ModelTests {
    @Test(
        "whatever is asked in whatever order, the journal does what dictionaries would do",
        arguments: 1...6 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let harness = try JournalHarness(vfs: FaultyDisk.vfs)
        harness.journal.close()
        let disk = FaultyDisk.mount(on: harness.directory.path)
        defer {
            harness.journal.close()
            FaultyDisk.unmount(harness.directory.path)
        }
        try harness.reopen()
        var model = JournalModel()
        // Numbers that share a key, as when a call comes again after the daemon has forgotten it.
        let calls = (1...15 as ClosedRange<Int64>).map { harness.call($0, "call-\($0 % 9)") }
        for step in 0..<250 {
            harness.clock.advance(by: .milliseconds(10))
            let base = calls.randomElement(using: &random) ?? calls[0]
            let call = changed(base, harness, &random)
            let isFailing = Int.random(in: 0..<8, using: &random) == 0
            disk.plan = { operation, _ in isFailing && operation == .sync ? SQLITE_IOERR | (4 << 8) : nil }
            switch Int.random(in: 0..<12, using: &random) {
            case 0...3:
                let id = "\(Bool.random(using: &random) ? "p" : "P")\(Int.random(in: 0..<60, using: &random))"
                let push = harness.push(id, call: call.key.id.rawValue)
                let payload = [UInt8](repeating: UInt8(step % 256), count: step)
                let given = Bool.random(using: &random) ? call : nil
                // What changes nothing does not need the disk, and does not fail.
                if let verdict = try? harness.append(push, payload: payload, call: given) {
                    #expect(verdict == model.append(push, payload: payload, call: given), "step \(step)")
                } else {
                    #expect(isFailing, "step \(step)")
                }
            case 4...5:
                let ringing = base.entering(.ringing, .rang, at: harness.clock.boot)
                if let verdict = try? harness.appendRing(ringing) {
                    #expect(verdict == model.ring(ringing), "step \(step)")
                } else {
                    #expect(isFailing, "step \(step)")
                }
            case 6...9:
                harness.journal.write(call, Bool.random(using: &random) ? .now : .withNext)
                model.write(call)
            case 10:
                // Nothing is read before what waits is written, or has failed to be.
                disk.plan = { _, _ in nil }
                model.commit()
                #expect(try harness.records() == model.newestCalls, "step \(step)")
                #expect(try harness.pushes().map(\.push) == model.pushes.prefix(100).map(\.record), "step \(step)")
            default:
                disk.plan = { _, _ in nil }
                model.commit()
                try harness.reopen()
                #expect(harness.contents.open == model.open, "step \(step)")
                #expect(harness.contents.nextCallNumber == (model.newestCalls.first?.number ?? 0) + 1)
                #expect(harness.journal.statistics.pushes == model.pushes.count)
                #expect(harness.journal.statistics.calls == model.calls.count)
            }
        }
    }

    /// The call as it may be by now.
    private func changed(
        _ call: CallRecord, _ harness: JournalHarness, _ random: inout SeededGenerator
    ) -> CallRecord {
        let now = harness.clock.boot
        var record = call
        record.attempt = .random(in: 1...9, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return record.entering(.ringing, .rang, at: now)
        case 1: return record.entering(.connected, .rang, at: now).entering(.connected, .connected, at: now)
        case 2: return record.ending(.unanswered, at: now)
        case 3: return record.entering(.reported, .reported, at: now)
        default: return record
        }
    }
}

/// The same numbers for the same seed.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// splitmix64.
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
