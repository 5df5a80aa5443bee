import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// Writes JSON documents. Escapes characters that could control a terminal. `controlLine` writes single lines.
enum JSONText {
    /// `value` over several lines, its members in alphabetical order, with a newline at the end.
    static func document(_ value: some Encodable) throws(RingwakeError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        do {
            let json = PlainJSON.escaped(Array(try encoder.encode(value)))
            return String(decoding: json, as: UTF8.self) + "\n"
        } catch {
            throw RingwakeError(.failed, "the result could not be written as JSON: \(error)")
        }
    }
}
