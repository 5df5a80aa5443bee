import ControlProtocol
import FoundationEssentials
import RingwakeCore

/// JSON documents as the command line writes them: what could steer a terminal stands in them as an escape. Single lines
/// are `controlLine`'s.
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
