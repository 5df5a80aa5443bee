import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// JSON as the command line writes it: what could steer a terminal stands in it as an escape.
enum JSONText {
    /// `value` over several lines, its members in alphabetical order, with a newline at the end.
    static func document(_ value: some Encodable) throws(RingwakeError) -> String {
        try encode(value, [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
    }

    /// `value` on one line, for NDJSON, with a newline at the end.
    static func line(_ value: some Encodable) throws(RingwakeError) -> String {
        try encode(value, [.sortedKeys, .withoutEscapingSlashes])
    }

    /// The line that stands for `error` on standard error.
    static func errorLine(_ error: RingwakeError) -> String {
        let message = ErrorMessage(error: error.code.slug, message: error.message)
        // Strings alone: it cannot fail, and if it did the message would still be said.
        return (try? line(message)) ?? "ringwake: \(error.message)\n"
    }

    private static func encode(
        _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
    ) throws(RingwakeError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        do {
            let json = PlainJSON.escaped(Array(try encoder.encode(value)))
            return String(decoding: json, as: UTF8.self) + "\n"
        } catch {
            throw RingwakeError(.failed, "the result could not be written as JSON: \(error)")
        }
    }
}
