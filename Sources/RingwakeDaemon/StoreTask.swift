internal import ControlProtocol
internal import CRingwakeLinux
internal import DaemonConfiguration
internal import FileSystem
internal import Glibc
internal import PushJournal
internal import RingwakeCore
internal import StoreMigration

/// What `ringwaked --store` does while no daemon runs. `ringwake store` and `ringwake backup` use it.
enum StoreTask: String, CaseIterable {
    /// Prints what the store is.
    case status
    /// Prints what a migration does.
    case plan
    /// Migrates it, and prints how far that is.
    case migrate
    /// Copies the store, prints where the copy is, and removes it when standard input ends.
    case copy
    /// Prints the store's records.
    case export
    /// Reads records and adds them.
    case `import`
}

/// Does a ``StoreTask`` as the owner of the state directory: what root makes there, the daemon could not open.
struct StoreWork {
    /// Bytes of one write of an export.
    private static let pieceBytes = 256 << 10

    private let directory: String
    private let limits: JournalLimits
    private let copy: String?

    /// - Parameters:
    ///   - file: the configuration.
    ///   - copy: a copy of the store to export; nil: the store.
    /// - Throws: `notFound` if there is no state directory, `badConfiguration`.
    init(file: String, defaults: StandardPaths, copy: String?) throws(RingwakeError) {
        let configuration = try Configuration.load(file: file, defaults: defaults)
        directory = configuration.stateDirectory
        limits = configuration.journal
        self.copy = copy
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw RingwakeError(.notFound, "there is no state directory \(directory): the daemon has not run yet")
        }
        try CheckUser.become("\(status.st_uid)")
    }

    /// - Throws: `inUse` if a daemon runs, `notFound` without a store.
    func run(_ task: StoreTask) throws(RingwakeError) {
        if task == .export, let copy { return try print(try PortableExport(copy: copy, header: Self.header)) }
        let lock = try Daemon.lock(directory)
        defer { withExtendedLifetime(lock) {} }
        switch task {
        case .status: emit(StoreLine(store: StoreMessage(try store().report())))
        case .plan: emit(StoreLine(store: StoreMessage(try store().plan())))
        case .migrate: try migrate()
        case .copy: try makeCopy()
        case .export: try print(try store().export(header: Self.header))
        case .import: try add()
        }
    }

    private func store() throws(RingwakeError) -> IdleStore {
        try IdleStore(inDirectory: directory, limits: limits, clocks: try Daemon.clocks())
    }

    private func migrate() throws(RingwakeError) {
        var percent = -1
        let damage = try store().migrate { progress in
            guard progress.percent != percent else { return }
            percent = progress.percent
            let done = StoreLine.Progress(version: progress.version, rows: progress.rows, allRows: progress.allRows)
            emit(StoreLine(progress: done))
        }
        var message = StoreMessage(try store().report())
        message.damage = damage.isEmpty ? nil : damage
        emit(StoreLine(store: message))
    }

    private func makeCopy() throws(RingwakeError) {
        let path = "\(directory)/\(StoreCopies.name)"
        defer { unlink(path) }
        do throws(FileSystemError) {
            unlink(path)
            try FileSystem.create(path, mode: 0o600)
        } catch {
            throw RingwakeError(.system, "\(error.description); the state directory has to be writable")
        }
        try store().copy(to: path) { emit(StoreCopyLine(percent: $0)) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw RingwakeError(.system, "\(path) is gone: somebody removed it") }
        emit(StoreCopyLine(percent: 100, file: path, bytes: Int64(status.st_size)))
        var buffer = [UInt8](repeating: 0, count: 4096)
        while Glibc.read(STDIN_FILENO, &buffer, buffer.count) > 0 {}
    }

    private static func header(_ header: inout JSONWriter) {
        header.add("program", "ringwake \(ProductVersion.current)")
        header.add("created_ms", unixMilliseconds())
        header.add("host", hostName() ?? "localhost")
    }

    private func print(_ export: consuming PortableExport) throws(RingwakeError) {
        var piece: [UInt8] = []
        while let line = try export.next() {
            piece += line
            guard piece.count >= Self.pieceBytes else { continue }
            try StandardStream.output.write(piece)
            piece = []
        }
        try StandardStream.output.write(piece)
    }

    private func add() throws(RingwakeError) {
        var input = LineInput(maximumBytes: PortableImport.maximumLineBytes)
        let outcome = try PortableImport.run(
            inDirectory: directory, limits: limits, clocks: try Daemon.clocks()
        ) { () throws(RingwakeError) in try input.next() }
        emit(StoreLine(added: outcome.added, skipped: outcome.skipped))
    }

    private func emit(_ line: some Encodable) {
        // A reader that has left needs no line; what was begun is finished.
        try? StandardStream.output.write(controlLine(line))
    }
}

/// Reads the lines of standard input.
private struct LineInput {
    private var lines: LineSplitter<RingwakeError>
    private var buffer = [UInt8](repeating: 0, count: 256 << 10)
    private var isAtEnd = false

    init(maximumBytes: Int) {
        lines = LineSplitter(
            maximumBytes: maximumBytes,
            tooLong: RingwakeError(
                .invalidRequest, "a line has more than \(maximumBytes) bytes: this is no export; nothing was imported.")
        )
    }

    /// The next line; nil at the end.
    mutating func next() throws(RingwakeError) -> [UInt8]? {
        while true {
            if let line = try lines.next() { return line }
            guard !isAtEnd else { return nil }
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count > 0 {
                lines.consume(buffer[..<count])
            } else if count == 0 {
                isAtEnd = true
                // A last line without its end is one all the same.
                if lines.hasRest { lines.consume([UInt8(ascii: "\n")]) }
            } else if errno != EINTR {
                throw RingwakeError(.system, "the export can't be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}

extension StoreMessage {
    init(_ report: StoreReport) {
        self.init(
            file: report.path, version: report.version, currentVersion: report.currentVersion,
            oldestVersion: report.oldestVersion, bytes: report.bytes, unusedBytes: report.unusedBytes,
            freeBytes: report.freeBytes, rows: report.rows)
    }

    init(_ plan: StorePlan) {
        self.init(plan.report)
        guard let seconds = plan.seconds else { return }
        migration = Migration(
            steps: plan.steps.map { Step(from: $0.from, to: $0.to, changes: $0.changes) }, seconds: seconds,
            neededBytes: plan.neededBytes)
    }
}
