internal import FileSystem
internal import FoundationEssentials
internal import RingwakeCore

/// What a restart of the daemon must know of this boot: that the device has been unlocked, and whether a command has locked
/// it. It is in the runtime directory, which is empty after a start of the machine; where it isn't, the boot's id tells.
nonisolated struct LockRecord: Codable, Equatable {
    static let name = "device-lock.json"
    private static let maximumBytes = 4096

    var schema = 1
    /// As `/proc/sys/kernel/random/boot_id`.
    var boot: String
    /// Whether the device has been unlocked since it was switched on.
    var unlocked = false
    /// Whether a command locked it last.
    var lockedByCommand = false

    init(boot: String) { self.boot = boot }

    /// That of this boot. What can't be read is as if there were none: then the device counts as not unlocked yet.
    static func read(in directory: String, boot: String) -> LockRecord {
        guard let bytes = try? FileSystem.read("\(directory)/\(name)", maximumSize: maximumBytes),
            let record = try? JSONDecoder().decode(LockRecord.self, from: Data(bytes)), record.boot == boot,
            record.schema == 1
        else { return LockRecord(boot: boot) }
        return record
    }

    /// - Throws: `system`.
    func write(in directory: String) throws(RingwakeError) {
        let path = "\(directory)/\(Self.name)"
        do {
            try FileSystem.replace(path, with: Array(try JSONEncoder().encode(self)), mode: 0o600)
        } catch {
            throw RingwakeError(
                .system, "'\(path)' can't be written: \(error); after a restart the device may count as locked")
        }
    }
}
