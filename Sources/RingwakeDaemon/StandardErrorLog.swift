internal import Glibc
internal import Logging
internal import Synchronization

/// Log lines on standard error: one line a message, constant text first, then the values as `key=value`.
///
/// Where journald reads standard error, each line begins with its severity as `<N>` (sd-daemon(3)); it adds the
/// time itself. Elsewhere the line begins with the level and the seconds since the machine started.
///
/// A reader that has stopped reading (a paused terminal, a full pipe) must not stop the daemon: a line that cannot
/// be written at once is dropped, and the number of dropped lines is said with the next one that can.
nonisolated struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    private let isJournal: Bool

    /// The most bytes of a line: what a pipe takes whole or not at all (PIPE_BUF, pipe(7)).
    private static let maximumLineBytes = 4096

    init(level: Logger.Level, isJournal: Bool) {
        logLevel = level
        self.isJournal = isJournal
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = isJournal ? "<\(event.level.severity)>" : "\(event.level.rawValue) "
        line += "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { _, new in new }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            line += " \(key)=\(quoted("\(value)"))"
        }
        write(Array(line.utf8.prefix(StandardErrorLog.maximumLineBytes - 1)) + [UInt8(ascii: "\n")])
    }

    private func write(_ line: [UInt8]) {
        var descriptor = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&descriptor, 1, 0) == 1, descriptor.revents & Int16(POLLOUT) != 0 else {
            DroppedLines.count.wrappingAdd(1, ordering: .relaxed)
            return
        }
        let dropped = DroppedLines.count.exchange(0, ordering: .relaxed)
        let prefix = dropped == 0 ? [] : Array("(\(dropped) log lines were dropped: nobody read them) ".utf8)
        // A line is lost only with the descriptor itself; there is no other place left to say so.
        _ = (prefix + line).withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// A value that has white space or quotes stands in quotes; control characters never reach the line.
    private func quoted(_ text: String) -> String {
        let harmless = text.unicodeScalars.map { scalar in
            scalar.value < 0x20 || scalar.value == 0x7F ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }.joined()
        guard harmless.isEmpty || harmless.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else {
            return harmless
        }
        return "\"" + harmless.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"") + "\""
    }
}

extension Logger.Level {
    /// The severity of syslog(3).
    fileprivate nonisolated var severity: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

/// Lines that could not be written since the last that could.
private nonisolated enum DroppedLines {
    static let count = Atomic<UInt64>(0)
}
