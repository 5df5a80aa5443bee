import Glibc
import Testing

/// What is on a disk, as opposed to what its files seem to hold: built from what was done to them.
///
/// As Linux does it: what was written is on the disk for sure when a sync that came later has succeeded. When a sync
/// fails, what it was to write is taken for written, and is lost.
nonisolated struct DiskImage {
    /// What becomes of what was written and not synced when the power fails.
    enum Fate: CaseIterable {
        case lost, kept, someOfIt
    }

    private(set) var files: [String: [UInt8]] = [:]
    private var unsynced: [String: [FaultyDisk.Change]] = [:]

    /// The files of a directory, all of them on the disk.
    init(of directory: String) {
        for name in ["store.db", "store.db-wal"] {
            guard let file = fopen("\(directory)/\(name)", "r") else { continue }
            defer { fclose(file) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
            files[name] = bytes
        }
    }

    mutating func apply(_ change: FaultyDisk.Change) {
        switch change {
        case .write(let name, _, _), .truncate(let name, _):
            unsynced[name, default: []].append(change)
        case .delete(let name):
            files[name] = nil
            unsynced[name] = nil
        case .sync(let name, let succeeded):
            if succeeded { for change in unsynced[name] ?? [] { carryOut(change) } }
            unsynced[name] = nil
        }
    }

    private mutating func carryOut(_ change: FaultyDisk.Change) {
        switch change {
        case .write(let name, let offset, let bytes):
            var file = files[name] ?? []
            let end = Int(offset) + bytes.count
            if file.count < end { file += [UInt8](repeating: 0, count: end - file.count) }
            file.replaceSubrange(Int(offset)..<end, with: bytes)
            files[name] = file
        case .truncate(let name, let size):
            files[name] = Array((files[name] ?? []).prefix(Int(size)))
        case .delete, .sync:
            break
        }
    }

    /// The disk after the power failed.
    func afterPowerCut(_ fate: Fate) -> DiskImage {
        var image = self
        for (name, changes) in unsynced {
            for change in changes where fate == .kept || (fate == .someOfIt && Bool.random()) { image.carryOut(change) }
            image.unsynced[name] = nil
        }
        return image
    }

    /// Puts the files into a directory.
    func write(to directory: String) throws {
        for (name, bytes) in files {
            let file = try #require(fopen("\(directory)/\(name)", "w"))
            defer { fclose(file) }
            #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        }
    }
}
