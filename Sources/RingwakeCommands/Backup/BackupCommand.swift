import ArgumentParser
import BackupArchive
import ControlProtocol
import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore

/// `ringwake backup`
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "backup", "Back up what the daemon keeps, and restore it.",
        examples: """
            ringwake backup create --to /mnt/usb --passphrase-file /srv/passphrase
            ringwake backup restore --dry-run /mnt/usb/ringwake-2026-11-27T180000Z.tar.zst
            ringwake backup export --to calls.jsonl
            """,
        subcommands: [
            BackupCreateCommand.self, BackupListCommand.self, BackupShowCommand.self, BackupVerifyCommand.self,
            BackupRestoreCommand.self, BackupExportCommand.self, BackupImportCommand.self,
        ])
}

/// A copy of the store, which is removed when this ends: the daemon that made it sees that.
final class StoreCopy {
    /// The copy.
    private(set) var file = ""
    private var stream: EventStream?
    private var program: (process: pid_t, input: Pipe)?

    /// A daemon that says nothing for so long while it copies has stopped.
    private static let patienceMinutes = 5

    /// Has the daemon make it, or `ringwaked --store` if none runs, and waits until it is complete.
    ///
    /// - Throws: `notPermitted` if it isn't in the state directory: another user may have said where it is, and decides what
    ///   the name stands for.
    init(_ source: StoreSource, in stateDirectory: String, progress: WorkProgress) throws(RingwakeError) {
        progress.begin("copying the store", of: 100, unit: .percent)
        if source.isRunning {
            try copy(source.client, progress)
        } else {
            try copy(try source.file(), progress)
        }
        guard FileSystem.split(file).directory == stateDirectory else {
            throw RingwakeError(
                .notPermitted, "the daemon says that the copy of its store is \(file), outside of \(stateDirectory)")
        }
    }

    deinit {
        guard let (process, input) = program else { return }
        input.closeWriting()
        _ = DaemonProgram.reap(process)
    }

    private func copy(_ client: ControlClient, _ progress: WorkProgress) throws(RingwakeError) {
        var stream = try client.stream(RequestTarget("store", "copy"))
        while file.isEmpty {
            switch try stream.next(until: Deadline(after: .seconds(60 * Self.patienceMinutes)), output: nil) {
            case .line(let bytes): try take(try EventStream.message(bytes, "a line"), progress)
            case .timedOut:
                throw RingwakeError(
                    .unreachable,
                    "the daemon has not gone on with the copy of its store for \(Self.patienceMinutes) minutes, and "
                        + "nothing was written; see its log")
            default:
                throw RingwakeError(.unreachable, "the daemon has ended while it copied its store; try again")
            }
        }
        self.stream = consume stream
    }

    private func copy(_ configuration: String, _ progress: WorkProgress) throws(RingwakeError) {
        let (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
        let process = try DaemonProgram().start(
            ["--store", "copy", "--config", configuration], input: input.reading, output: output.writing,
            error: errors.writing)
        program = (process, input)
        for pipe in [output, errors] { pipe.closeWriting() }
        try output.untilLine { line throws(RingwakeError) in
            guard let line = try? JSONDecoder().decode(StoreCopyLine.self, from: Data(line)) else { return false }
            try self.take(line, progress)
            return !self.file.isEmpty
        }
        guard file.isEmpty else { return }
        program = nil
        throw DaemonProgram.refusal(DaemonProgram.reap(process), errors.readAll())
            ?? RingwakeError(.failed, "ringwaked did not copy the store; install the same version of both")
    }

    private func take(_ line: StoreCopyLine, _ progress: WorkProgress) throws(RingwakeError) {
        if let error = line.error { throw RingwakeError(error) }
        if let percent = line.percent { progress.advance(to: Int64(percent)) }
        file = line.file ?? file
    }
}

/// The store as a backup has it: a copy, or the records of one.
struct StoreForBackup {
    let source: StoreSource
    let stateDirectory: String
    /// Nil: the store itself. Otherwise its records, with what opens protected ones.
    let portable: RecordPassphrase?
    /// Where the records are written first.
    let scratch: String
    let progress: WorkProgress
    /// Told what of the records was left out.
    let warn: (String) -> Void

    /// Calls `body` with it. The copy is gone afterwards.
    func use<Value>(
        _ body: (ArchiveWriter.Source) throws(RingwakeError) -> Value
    ) throws(RingwakeError) -> Value {
        let copy = try StoreCopy(source, in: stateDirectory, progress: progress)
        defer { withExtendedLifetime(copy) {} }
        let owner = try withFiles { () throws(FileSystemError) in try FileSystem.attributes(of: stateDirectory).owner }
        guard let portable else { return try body(try member("store/store.db", copy.file, owner: owner)) }
        let records = try TemporaryFile(in: scratch)
        progress.begin("writing the records", of: nil, unit: .rows)
        let said = try DaemonProgram().export(
            copy: copy.file, portable, configuration: try source.file(), output: records.descriptor)
        if let said { warn(said) }
        return try body(try member("portable/records.jsonl", records.path))
    }

    private func member(
        _ name: String, _ path: String, owner: UInt32? = nil
    ) throws(RingwakeError) -> ArchiveWriter.Source {
        guard let name = MemberName(name) else {
            throw RingwakeError(.failed, "no name '\(name)'; report this as a bug")
        }
        return ArchiveWriter.Source(name, path: path, owner: owner)
    }
}

/// A file without a name, which nobody else can open and which is gone with this process.
private final class TemporaryFile {
    let descriptor: Int32
    var path: String { "/proc/self/fd/\(descriptor)" }

    init(in folder: String) throws(RingwakeError) {
        var name = Array("\(folder)/ringwake-XXXXXX".utf8CString)
        descriptor = mkstemp(&name)
        guard descriptor >= 0 else {
            throw RingwakeError(FileSystemError(operation: "write in", path: folder, errno: errno))
        }
        unlink(name)
    }

    deinit { close(descriptor) }
}
