import BackupArchive
import ControlProtocol
import FileSystem
import Glibc
import RingwakeCore
import VoIPCertificates

/// The files of a backup that belong outside of the state directory: the configuration, and what it names.
struct RestoredFiles {
    /// What becomes of a file.
    enum Kind: String {
        case new, replaced
        /// The backup has no such file of an app, of a team, or of the configuration.
        case removed
    }

    struct Change {
        /// In the unpacked backup; empty for ``Kind/removed``.
        let source: String
        let target: String
        let mode: UInt32
        let kind: Kind
    }

    /// More than certificates, keys and ring sounds have.
    private static let maximumBytes = 64 << 20
    private static let configurationFolder = "configuration/"
    private static let namedFolder = "files/"
    private static let settingsSuffix = ".toml"

    /// What differs from the files that are here; the configuration's own file last.
    private(set) var changes: [Change] = []
    /// The unpacked configuration; nil if it isn't restored.
    private(set) var configuration: String?

    /// - Parameters:
    ///   - folder: where the backup was unpacked.
    ///   - isEmpty: nothing is to be restored.
    /// - Throws: `conflict` for a file of the machine that the present configuration does not name.
    init(
        _ backup: ArchiveReader.Unpacked, in folder: String, for target: RestoreTarget, isEmpty: Bool
    ) throws(RingwakeError) {
        guard !isEmpty else { return }
        let members = backup.manifest.members.map { (name: $0.name.description, mode: $0.mode, origin: $0.origin) }
        let keys = backup.keys.map { (name: $0.name.description, mode: $0.mode, origin: $0.origin) }
        // The writer puts the configuration's own file before its parts.
        let main = members.first { $0.name.hasPrefix(Self.configurationFolder) }?.name
        guard let main else { return }
        configuration = "\(folder)/\(main)"
        let home = target.home
        let formerHome = members.first { $0.name == main }?.origin.map { FileSystem.split($0).directory }
        var targets: Set<String> = []
        for file in members + keys {
            let path: String
            if file.name == main {
                path = target.file
            } else if file.name.hasPrefix(Self.configurationFolder) {
                path = "\(home)/\(file.name.dropFirst(Self.configurationFolder.utf8.count))"
            } else if file.name.hasPrefix(Self.namedFolder), let origin = file.origin, origin.hasPrefix("/") {
                // What was in the configuration's folder is in that of the one here.
                let inHome = formerHome.flatMap { origin.hasPrefix($0 + "/") ? origin.dropFirst($0.utf8.count) : nil }
                path = inHome.map { home + $0 } ?? origin
            } else {
                continue
            }
            guard Self.isPlain(path) else {
                throw RingwakeError(
                    .failed, "the backup has a file for \(path), which leads to another place; nothing was changed")
            }
            guard targets.insert(path).inserted else {
                throw RingwakeError(.failed, "the backup has two files for \(path); nothing was changed")
            }
            try add("\(folder)/\(file.name)", path, file.mode.bits, in: home, present: target.configuration)
        }
        try addRemoved(target, besides: targets)
        changes = changes.filter { $0.target != target.file } + changes.filter { $0.target == target.file }
    }

    /// Whether a path is what it looks like.
    private static func isPlain(_ path: String) -> Bool {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().allSatisfy {
            !["", ".", ".."].contains($0)
        }
    }

    private mutating func add(
        _ source: String, _ path: String, _ mode: UInt32, in home: String, present: ConfigurationMessage?
    ) throws(RingwakeError) {
        guard FileSystem.exists(path) || FileSystem.isLink(path) else {
            return changes.append(Change(source: source, target: path, mode: mode, kind: .new))
        }
        guard try Self.contents(source) != Self.contents(path) else { return }
        let folders = [home, present?.appsDirectory, present?.teamsDirectory].compactMap(\.self)
        let isOurs =
            folders.contains { path.hasPrefix($0 + "/") } || present?.namedFiles.contains { $0.path == path } == true
        guard isOurs else {
            throw RingwakeError(
                .conflict,
                "\(path) is another file than in the backup, and no file of the present configuration; move it away, or "
                    + "restore with --no-configuration. Nothing was changed")
        }
        changes.append(Change(source: source, target: path, mode: mode, kind: .replaced))
    }

    private mutating func addRemoved(_ target: RestoreTarget, besides targets: Set<String>) throws(RingwakeError) {
        guard let present = target.configuration else { return }
        for folder in [target.file + ".d", present.appsDirectory, present.teamsDirectory]
        where FileSystem.exists(folder) {
            let names = try withFiles { () throws(FileSystemError) in try FileSystem.entries(of: folder) }
            for path in names.filter({ $0.hasSuffix(Self.settingsSuffix) }).map({ "\(folder)/\($0)" })
            where !targets.contains(path) {
                changes.append(Change(source: "", target: path, mode: 0, kind: .removed))
            }
        }
    }

    private static func contents(_ path: String) throws(RingwakeError) -> [UInt8] {
        try withFiles { () throws(FileSystemError) in try FileSystem.read(path, maximumSize: maximumBytes) }
    }

    // MARK: - Putting them in place

    /// Moves the present files aside, puts those of the backup in their places, and then does `last`. If something fails,
    /// all files are as before.
    ///
    /// - Parameter aside: is added to the names of the present files.
    /// - Returns: the files that were moved aside.
    func install(
        aside: String, _ last: () throws(RingwakeError) -> Void
    ) throws(RingwakeError) -> [String] {
        var done: [Change] = []
        do throws(RingwakeError) {
            for change in changes {
                try install(change, aside)
                done.append(change)
            }
            try last()
        } catch {
            var left: [String] = []
            for change in done.reversed() {
                do throws(FileSystemError) { try Self.undo(change, aside) } catch { left.append(error.description) }
            }
            guard left.isEmpty else {
                throw RingwakeError(
                    error.code, "\(error.message); and not everything is as before: \(left.joined(separator: "; "))")
            }
            throw error
        }
        return done.filter { $0.kind != .new }.map { Self.former($0, aside) }
    }

    private static func former(_ change: Change, _ aside: String) -> String { "\(change.target).\(aside)" }

    private func install(_ change: Change, _ aside: String) throws(RingwakeError) {
        let (directory, target) = (FileSystem.split(change.target).directory, change.target)
        try TrustedDirectory.require(directory)
        let contents = change.kind == .removed ? [] : try Self.contents(change.source)
        try withFiles { () throws(FileSystemError) in
            switch change.kind {
            case .removed: try FileSystem.move(target, to: Self.former(change, aside))
            case .new:
                if !FileSystem.exists(directory) { try FileSystem.createDirectory(directory, mode: 0o755) }
                try Self.write(contents, change, like: try FileSystem.attributes(of: directory))
            case .replaced:
                let attributes = try FileSystem.attributes(of: target)
                // The name never stands for nothing: the daemon may read it now.
                try FileSystem.linkNew(target, at: Self.former(change, aside))
                do throws(FileSystemError) {
                    try Self.write(contents, change, like: attributes)
                } catch {
                    try FileSystem.remove(Self.former(change, aside))
                    throw error
                }
            }
        }
    }

    private static func write(
        _ contents: [UInt8], _ change: Change, like owner: FileAttributes
    ) throws(FileSystemError) {
        guard geteuid() == 0 else { return try FileSystem.replace(change.target, with: contents, mode: change.mode) }
        try FileSystem.replace(
            change.target, with: contents,
            attributes: FileAttributes(owner: owner.owner, group: owner.group, mode: change.mode))
    }

    private static func undo(_ change: Change, _ aside: String) throws(FileSystemError) {
        if change.kind == .new {
            try FileSystem.remove(change.target)
        } else {
            try FileSystem.move(former(change, aside), to: change.target)
        }
    }
}
