import ControlProtocol
import FoundationEssentials
import Glibc
import RingwakeCore

/// A `ringwaked --store restore` that runs: it prepares everything, and waits for the word to put it in place. If this ends
/// without that, it removes what it has prepared.
final class RestoreSession {
    private let process: pid_t
    private let input: Pipe
    private let output: Pipe
    private let errors: Pipe
    private var isReaped = false

    /// - Parameter passphrase: of protected records in the backup.
    init(
        configuration: String, stateDirectory: String, _ order: RestoreOrder, passphrase: RecordPassphrase
    ) throws(RingwakeError) {
        (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
        process = try DaemonProgram().start(
            ["--store", "restore", "--file", stateDirectory, "--config", configuration], input: input.reading,
            output: output.writing, error: errors.writing)
        for pipe in [output, errors] { pipe.closeWriting() }
        try write(controlLine(order) + passphrase.line)
    }

    deinit {
        input.closeWriting()
        if !isReaped { _ = DaemonProgram.reap(process) }
    }

    /// Waits until everything is ready.
    func prepared(_ progress: WorkProgress) throws(RingwakeError) -> RestoreLine.Prepared {
        progress.begin("preparing", of: nil, unit: .rows)
        var prepared: RestoreLine.Prepared?
        var version: Int64?
        try output.untilLine { line throws(RingwakeError) in
            guard let line = try? JSONDecoder().decode(RestoreLine.self, from: Data(line)) else { return false }
            if let report = line.progress {
                if version != report.version {
                    version = report.version
                    progress.begin("migrating to version \(report.version)", of: report.allRows, unit: .rows)
                }
                progress.advance(to: report.rows)
            }
            prepared = line.prepared
            return prepared != nil
        }
        guard let prepared else { throw ending() }
        return prepared
    }

    /// Puts it in place, or leaves that to the running daemon.
    ///
    /// - Returns: whether it is in place, and what a merge has added.
    func commit() throws(RingwakeError) -> RestoreLine {
        try write(Array("\(RestoreOrder.commit)\n".utf8))
        var done: RestoreLine?
        try output.untilLine { line throws(RingwakeError) in
            done = try? JSONDecoder().decode(RestoreLine.self, from: Data(line))
            return done?.isComplete != nil
        }
        guard let done else { throw ending() }
        return done
    }

    /// The error that it has ended with.
    private func ending() -> RingwakeError {
        input.closeWriting()
        let complaint = errors.readAll()
        isReaped = true
        return DaemonProgram.refusal(DaemonProgram.reap(process), complaint)
            ?? RingwakeError(.failed, "ringwaked did not restore; install the same version of both")
    }

    private func write(_ bytes: [UInt8]) throws(RingwakeError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(input.writing, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw ending() }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
