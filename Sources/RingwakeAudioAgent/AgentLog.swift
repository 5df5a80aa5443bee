internal import ControlProtocol
internal import Glibc
internal import Logging

/// Log lines on standard error: the level, constant text, then the values as `key=value`. Where journald reads, each
/// line begins with its severity instead (sd-daemon(3)).
///
/// A line is written at once. A full pipe loses it: a call must not wait for a log.
struct AgentLog: LogHandler {
    /// A longer line is cut.
    private static let maximumBytes = 2_048

    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    private let isJournal: Bool

    init(level: Logger.Level, isJournal: Bool) {
        logLevel = level
        self.isJournal = isJournal
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = (isJournal ? "<\(severity(event.level))>" : "\(event.level.rawValue) ") + "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { _, new in new }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { line += " \(key)=\"\(value)\"" }
        say(line)
    }

    private func severity(_ level: Logger.Level) -> Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    /// One line for people, without terminal control characters.
    func say(_ text: String) {
        let plain = text.unicodeScalars.map { $0.isUnsafeToShow ? "\\u{\(String($0.value, radix: 16))}" : String($0) }
        let bytes = Array(plain.joined().utf8.prefix(Self.maximumBytes)) + [UInt8(ascii: "\n")]
        var entry = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&entry, 1, 0) > 0, entry.revents & Int16(POLLOUT) != 0 else { return }
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
