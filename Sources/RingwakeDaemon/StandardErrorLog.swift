internal import Glibc
internal import Logging

/// Log lines on standard error: one line a message, constant text first, then the values as `key=value`.
///
/// Where journald reads standard error, each line begins with its severity as `<N>` (sd-daemon(3)); it adds the
/// time itself. Elsewhere the line begins with the level.
nonisolated struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    private let isJournal: Bool
    private let stream = LogStream(STDERR_FILENO)

    init(level: Logger.Level, isJournal: Bool) {
        logLevel = level
        self.isJournal = isJournal
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = head(event.level) + "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { _, new in new }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            line += " \(key)=\(quoted("\(value)"))"
        }
        stream.write(Array(line.utf8.prefix(LogStream.maximumLineBytes - 1)) + [UInt8(ascii: "\n")]) { lostLines in
            Array((head(.warning) + "\(lostLines) log lines were lost: nobody read them\n").utf8)
        }
    }

    private func head(_ level: Logger.Level) -> String {
        isJournal ? "<\(level.severity)>" : "\(level.rawValue) "
    }

    /// A value that has white space or quotes stands in quotes; control characters never reach the line.
    private func quoted(_ text: String) -> String {
        // By bytes: nearly every value is plain, and a line is written for each thing that happens to a call.
        let harmless = withoutControlCharacters(text)
        let bytes = harmless.utf8
        guard
            bytes.isEmpty || bytes.contains(UInt8(ascii: " ")) || bytes.contains(UInt8(ascii: "\""))
                || bytes.contains(UInt8(ascii: "="))
        else { return harmless }
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

/// `text` with each control character, of ASCII or of Latin-1 (C1), and each one that turns the writing direction or is
/// not seen, as `\u{1b}`: none may steer a terminal, or deceive who reads it.
nonisolated func withoutControlCharacters(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    return text.unicodeScalars.map { scalar in
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: "\\u{\(String(scalar.value, radix: 16))}"
        case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: "\\u{\(String(scalar.value, radix: 16))}"
        default: String(scalar)
        }
    }.joined()
}
