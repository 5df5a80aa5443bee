internal import CRingwakeLinux
internal import Glibc
package import Logging

/// Writes log lines to standard error: constant text first, then the values as `key=value`.
///
/// If journald reads standard error, a line starts with its severity as `<N>` (sd-daemon(3)), and journald adds the
/// time. Otherwise it starts with the level.
package struct StandardErrorLog: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level
    private let isJournal: Bool
    private let stream = LogStream(STDERR_FILENO)

    /// - Parameter environment: the process's. Its JOURNAL_STREAM contains the device and inode of journald's stream
    ///   (systemd.exec(5)).
    package init(level: Logger.Level, environment: [String: String]) {
        logLevel = level
        var information = stat()
        isJournal =
            fstat(STDERR_FILENO, &information) == 0
            && environment["JOURNAL_STREAM"] == "\(information.st_dev):\(information.st_ino)"
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line = head(event.level) + "\(event.message)"
        let values = metadata.merging(event.metadata ?? [:]) { _, new in new }
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            line += " \(key)=\(quoted("\(value)"))"
        }
        write(line)
    }

    /// Writes one line for people, without level or values.
    package func report(_ text: String) {
        write(withoutControlCharacters(text))
    }

    private func write(_ line: String) {
        stream.write(Array(line.utf8.prefix(LogStream.maximumLineBytes - 1)) + [UInt8(ascii: "\n")]) { lostLines in
            Array((head(.warning) + "\(lostLines) log lines were lost: nobody read them\n").utf8)
        }
    }

    private func head(_ level: Logger.Level) -> String {
        isJournal ? "<\(level.severity)>" : "\(level.rawValue) "
    }

    /// Quotes a value that has spaces, quotes, backslashes or equals signs, and escapes control characters.
    private func quoted(_ text: String) -> String {
        // Check bytes, because nearly every value is plain, and each step of a call writes a line.
        let isPlain = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: "="), UInt8(ascii: "\\"): false
            default: true
            }
        }
        guard text.isEmpty || !isPlain else { return withoutControlCharacters(text) }
        var escaped = ""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { escaped.unicodeScalars.append("\\") }
            escaped.unicodeScalars.append(character)
        }
        return "\"" + withoutControlCharacters(escaped) + "\""
    }
}

extension Logger.Level {
    /// The severity in syslog(3).
    fileprivate var severity: Int {
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

/// Escapes control characters (ASCII and C1), and characters that are invisible or change the writing direction, as in
/// `\u{1b}`. They could control a terminal or deceive the reader.
package func withoutControlCharacters(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
    return text.unicodeScalars.map { scalar in
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: "\\u{\(String(scalar.value, radix: 16))}"
        case 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: "\\u{\(String(scalar.value, radix: 16))}"
        default: String(scalar)
        }
    }.joined()
}
