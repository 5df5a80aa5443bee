import CRingwakeLinux
import ControlProtocol
import FileSystem
import FoundationEssentials
import Glibc
import RingwakeCore

/// The program `ringwaked`, which this program starts to read a configuration, or for an ephemeral endpoint.
struct DaemonProgram {
    /// Where packages install it, if it isn't beside this program.
    private static let installed = ["/usr/bin/ringwaked", "/usr/local/bin/ringwaked", "/usr/sbin/ringwaked"]

    let path: String

    /// Finds it: beside this program, else where packages install it.
    init() throws(RingwakeError) {
        let candidates = DaemonProgram.own.map { [FileSystem.split($0).directory + "/ringwaked"] } ?? []
        guard let path = (candidates + DaemonProgram.installed).first(where: FileSystem.isExecutableFile) else {
            throw RingwakeError(
                .notFound,
                "there is no 'ringwaked' beside this program or in /usr/bin, and it reads the configuration; install it"
            )
        }
        self.path = path
    }

    /// The path of this program; nil if /proc is not mounted.
    static var own: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count - 1)
        guard length > 0 else { return nil }
        return String(decoding: path.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The contents of a configuration, checked as the daemon checks them at its start. Wrong files of apps and teams are
    /// in the message.
    ///
    /// - Throws: the daemon's own error.
    func configuration(_ file: String) throws(RingwakeError) -> ConfigurationMessage {
        let (message, error) = try inspect(file)
        guard let message else { throw error ?? unexpected }
        return message
    }

    /// The same for a configuration with which the daemon would not start: what could be read of it, and the error.
    ///
    /// - Parameter user: the name or number of the user to check as; nil for the present one.
    func inspect(
        _ file: String, user: String? = nil
    ) throws(RingwakeError) -> (ConfigurationMessage?, RingwakeError?) {
        let done = try run(["--check-config", "--json", "--config", file] + (user.map { ["--as", $0] } ?? []))
        let refusal = DaemonProgram.refusal(done.status, done.errors)
        guard !done.output.isEmpty else { return (nil, refusal ?? unexpected) }
        do {
            return (try JSONDecoder().decode(ConfigurationMessage.self, from: Data(done.output)), refusal)
        } catch {
            throw unexpected
        }
    }

    /// Has it look at the store, or migrate it.
    ///
    /// - Parameters:
    ///   - task: `status`, `plan` or `migrate`.
    ///   - onProgress: called for each report of progress.
    /// - Throws: the daemon's own error: `inUse` if a daemon runs, `notFound` without a store.
    func store(
        _ task: String, configuration file: String, onProgress: (StoreLine.Progress) -> Void
    ) throws(RingwakeError) -> StoreMessage {
        let (output, errors, input) = (try Pipe(), try Pipe(), try Pipe())
        let process = try start(
            ["--store", task, "--config", file], input: input.reading, output: output.writing, error: errors.writing)
        for pipe in [output, errors, input] { pipe.closeWriting() }
        var store: StoreMessage?
        output.forEachLine { line in
            guard let line = try? JSONDecoder().decode(StoreLine.self, from: Data(line)) else { return }
            if let progress = line.progress { onProgress(progress) }
            store = line.store ?? store
        }
        let complaint = errors.readAll()
        if let refusal = DaemonProgram.refusal(DaemonProgram.reap(process), complaint) { throw refusal }
        guard let store else { throw unexpected }
        return store
    }

    /// Has it write the records of the store.
    ///
    /// - Parameter copy: a copy of the store; nil: the store, while no daemon runs.
    /// - Returns: what was left out, for a person; nil if nothing was.
    /// - Throws: the daemon's own error.
    func export(
        copy: String?, _ passphrase: RecordPassphrase, configuration file: String, output: Int32
    ) throws(RingwakeError) -> String? {
        let input = try Pipe()
        try input.write(passphrase.line)
        input.closeWriting()
        return try store(
            ["export"] + (copy.map { ["--file", $0] } ?? []), configuration: file, input: input.reading, output: output)
    }

    /// Has it work on the store, with these files as its standard input and output.
    ///
    /// - Returns: what a person has to know of it, from its standard error; nil if there is nothing.
    /// - Throws: the daemon's own error.
    func store(
        _ arguments: [String], configuration file: String, input: Int32, output: Int32
    ) throws(RingwakeError) -> String? {
        let errors = try Pipe()
        let process = try start(
            ["--store"] + arguments + ["--config", file], input: input, output: output, error: errors.writing)
        errors.closeWriting()
        let complaint = errors.readAll()
        if let refusal = DaemonProgram.refusal(DaemonProgram.reap(process), complaint) { throw refusal }
        return complaint.isEmpty ? nil : DaemonProgram.firstLine(of: complaint)
    }

    /// The error of a run that has failed; nil if it has not.
    static func refusal(_ status: Int32, _ errors: [UInt8]) -> RingwakeError? {
        guard status != 0 else { return nil }
        guard status < 128 || !errors.isEmpty else {
            return RingwakeError(.failed, "ringwaked was ended by signal \(status - 128); try again")
        }
        let code = RingwakeError.Code.all.first { $0.exitStatus == status } ?? .failed
        return RingwakeError(code, firstLine(of: errors))
    }

    /// Without the program's name.
    private static func firstLine(of errors: [UInt8]) -> String {
        let prefix = "ringwaked: "
        let lines = String(decoding: errors, as: UTF8.self).split(separator: "\n")
        // A library may have written others.
        return lines.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
            ?? String(lines.first ?? "")
    }

    private var unexpected: RingwakeError {
        RingwakeError(
            .failed,
            "'\(path)' did not print what this version expects; install the same version of both")
    }

    /// Starts it, as ``spawn(_:input:output:error:)`` does.
    func start(_ arguments: [String], input: Int32, output: Int32, error: Int32) throws(RingwakeError) -> pid_t {
        try spawn([path] + arguments, input: input, output: output, error: error)
    }

    /// Waits for a child, and returns its exit status; 128 and the number of the signal that ended it.
    static func reap(_ process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return 1 }
        }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Runs it to its end.
    private func run(
        _ arguments: [String]
    ) throws(RingwakeError) -> (status: Int32, output: [UInt8], errors: [UInt8]) {
        let (output, errors, input) = (try Pipe(), try Pipe(), try Pipe())
        let process = try start(arguments, input: input.reading, output: output.writing, error: errors.writing)
        for pipe in [output, errors, input] { pipe.closeWriting() }
        // Its error is one message, which fits into the pipe: it doesn't block while its output is read.
        let (text, complaint) = (output.readAll(), errors.readAll())
        return (DaemonProgram.reap(process), text, complaint)
    }
}

/// Starts a program with standard input, output and error as given, in a process group of its own.
///
/// - Parameter command: its path and its arguments.
func spawn(_ command: [String], input: Int32, output: Int32, error: Int32) throws(RingwakeError) -> pid_t {
    var process: pid_t = 0
    var bytes: [CChar] = []
    var starts: [Int] = []
    for word in command {
        starts.append(bytes.count)
        bytes += word.utf8CString
    }
    let failure = bytes.withUnsafeMutableBufferPointer { buffer in
        let words = starts.map { buffer.baseAddress?.advanced(by: $0) } + [nil]
        return ringwake_spawn(&process, words, ringwake_environment(), input, output, error)
    }
    guard failure == 0 else {
        throw RingwakeError(
            .system, "'\(command.first ?? "")' cannot be started: \(String(cString: strerror(failure)))")
    }
    return process
}

/// Both ends of a pipe, closed with this object.
final class Pipe {
    let reading: Int32
    private(set) var writing: Int32

    init() throws(RingwakeError) {
        var ends: [Int32] = [-1, -1]
        guard ringwake_pipe(&ends, 0) == 0 else {
            throw RingwakeError(.system, "no pipe could be made: \(String(cString: strerror(errno)))")
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        closeWriting()
    }

    func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    /// Writes as much as fits into an empty pipe at least: 4096 bytes.
    func write(_ bytes: [UInt8]) throws(RingwakeError) {
        guard bytes.withUnsafeBytes({ Glibc.write(writing, $0.baseAddress, $0.count) }) == bytes.count else {
            throw RingwakeError(.system, "a pipe can't be written: \(String(cString: strerror(errno)))")
        }
    }

    /// Everything until the last writer closes.
    func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        forEachPiece { bytes += $0 }
        return bytes
    }

    /// Calls `body` for each line until it returns true, or until the last writer closes.
    func untilLine(_ body: ([UInt8]) throws(RingwakeError) -> Bool) throws(RingwakeError) {
        var lines = LineSplitter(maximumBytes: 1 << 20, tooLong: RingwakeError(.limitReached, "a line is too long"))
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            while let line = try lines.next() {
                if try body(line) { return }
            }
            let count = Glibc.read(reading, &buffer, buffer.count)
            if count > 0 { lines.consume(buffer[..<count]) }
            if count == 0 || (count < 0 && errno != EINTR) { return }
        }
    }

    /// Calls `body` for each line until the last writer closes. A line that is too long ends it.
    func forEachLine(_ body: ([UInt8]) -> Void) {
        var lines = LineSplitter(maximumBytes: 1 << 20, tooLong: RingwakeError(.limitReached, "a line is too long"))
        forEachPiece { piece in
            lines.consume(piece)
            while let line = try? lines.next() { body(line) }
        }
    }

    private func forEachPiece(_ body: (ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(reading, &buffer, buffer.count)
            if count > 0 { body(buffer[..<count]) }
            if count == 0 || (count < 0 && errno != EINTR) { return }
        }
    }
}
