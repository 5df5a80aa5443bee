internal import Cryptography
internal import PushGateway
internal import RingwakeCore

/// The device's identity on the disk. What it answers is always what the disk has: an identifier that the next start
/// doesn't know would be worse than none.
///
///     unwritten --register--> known <--reset-- unreadable
///
/// Calls don't need an identity, so none of this keeps the daemon from running.
final class IdentityStore {
    private enum State {
        case known(DeviceIdentity)
        /// There is none, and the disk took none yet.
        case unwritten(why: String)
        /// There is one that can't be read. It stays, because its contents may be good.
        case unreadable(why: String)
    }

    private var state: State
    /// What was damaged when it was opened, for a person.
    let damage: [String]
    private let file: StateFile<IdentityFile>
    private let machine: String?

    /// Reads the identity, or makes one.
    ///
    /// - Parameter machine: the hash of this machine's id; nil: it has none.
    /// - Throws: `conflict` if a newer version wrote it.
    init(directory: String, machine: String?) throws(RingwakeError) {
        file = IdentityFile.file(in: directory)
        self.machine = machine
        state = .unwritten(why: "it was not made yet")
        do throws(RingwakeError) {
            switch try file.read({ (file) throws(RingwakeError) in try file.identity() }) {
            case .found(let found, let damage):
                state = .known(found)
                self.damage = damage.map { [$0] } ?? []
            case .absent: damage = []
            case .lost(let why):
                damage = ["\(why); this device has a new identity, and each vendor of apps another identifier"]
            }
        } catch {
            guard error.code != .conflict else { throw error }
            state = .unreadable(why: error.message)
            damage = [error.message]
        }
        // The machine had no id before.
        if let identity, identity.machine == nil, machine != nil { try? accept() }
    }

    /// Nil while it is unknown.
    var identity: DeviceIdentity? { if case .known(let identity) = state { identity } else { nil } }

    /// - Throws: `system` while it is unknown.
    func required() throws(RingwakeError) -> DeviceIdentity {
        guard let identity else {
            throw RingwakeError(.system, "the device's identity is not known: \(problem ?? "")")
        }
        return identity
    }

    /// Why the identity is unknown, for a person; nil if it isn't.
    var problem: String? {
        switch state {
        case .known: nil
        case .unwritten(let why), .unreadable(let why): why
        }
    }

    /// Whether another machine made the identity.
    var isCopied: Bool { identity?.isCopied(to: machine) ?? false }

    /// Whether it can be told which machine made the identity.
    var isMachineKnown: Bool { machine != nil && identity?.machine != nil }

    /// Registers apps with their vendors. Makes the identity if there is none.
    ///
    /// - Throws: `system` if the file can't be written, or if the identity can't be read; `limitReached`. Nothing has
    ///   changed then.
    func register(_ apps: [(app: AppID, vendor: Vendor)]) throws(RingwakeError) {
        if case .unwritten = state { try write(DeviceIdentity(machine: machine, random: SecureRandom.bytes)) }
        try change { identity throws(RingwakeError) in
            for (app, vendor) in apps { try identity.register(app, of: vendor, random: SecureRandom.bytes) }
        }
    }

    /// Forgets an app that was removed.
    ///
    /// - Throws: `system` if the file can't be written, or if the identity is unknown. Nothing has changed then.
    func remove(_ app: AppID) throws(RingwakeError) { try change { $0.remove(app) } }

    /// Makes another identity, for the same apps. It takes the place of one that can't be read.
    ///
    /// - Throws: `system` if the file can't be written. Nothing has changed then.
    func reset() throws(RingwakeError) {
        let new: DeviceIdentity =
            if let identity {
                try identity.renewed(machine: machine, random: SecureRandom.bytes)
            } else {
                try DeviceIdentity(machine: machine, random: SecureRandom.bytes)
            }
        try write(new)
    }

    /// Keeps the identity on this machine, whichever machine made it.
    ///
    /// - Throws: As ``remove(_:)``.
    func accept() throws(RingwakeError) { try change { $0.belong(to: machine) } }

    private func change(_ body: (inout DeviceIdentity) throws(RingwakeError) -> Void) throws(RingwakeError) {
        var changed = try required()
        try body(&changed)
        if changed != identity { try write(changed) }
    }

    private func write(_ new: DeviceIdentity) throws(RingwakeError) {
        do throws(RingwakeError) {
            try file.write(IdentityFile(new))
        } catch {
            if case .unwritten = state { state = .unwritten(why: error.message) }
            throw error
        }
        state = .known(new)
    }
}
