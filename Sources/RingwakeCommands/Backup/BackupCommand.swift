import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake backup`
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "backup", "Export what the store holds, and import it.",
        examples: """
            ringwake backup export --to calls.jsonl
            ringwake backup import calls.jsonl
            """,
        subcommands: [BackupExportCommand.self, BackupImportCommand.self])
}

/// A copy of the running daemon's store. It is removed when this ends.
struct StoreCopy: ~Copyable {
    /// The copy.
    let file: String
    private let stream: EventStream

    /// Has the daemon make it, and waits until it is complete.
    init(_ client: ControlClient, progress: WorkProgress) throws(RingwakeError) {
        var stream = try client.stream(RequestTarget("store", "copy"))
        progress.begin("copying the store", of: 100, unit: .percent)
        while true {
            guard case .line(let bytes) = try stream.next(until: nil, output: nil) else {
                throw RingwakeError(.unreachable, "the daemon has ended while it copied its store; try again")
            }
            let line: StoreCopyLine = try EventStream.message(bytes, "a line")
            if let error = line.error { throw RingwakeError(error) }
            if let percent = line.percent { progress.advance(to: Int64(percent)) }
            if let file = line.file {
                self.file = file
                break
            }
        }
        self.stream = stream
    }
}
