internal import FoundationEssentials

/// `message` as JSON on one line, its members sorted, so that equal messages are equal bytes.
package func controlJSON(_ message: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
        // Callers are a stranger's text, and a terminal may be all that reads it.
        return PlainJSON.escaped(Array(try encoder.encode(message)))
    } catch {
        // The messages hold texts, whole numbers and Booleans only, which always encode.
        preconditionFailure("a control message that does not encode: \(error)")
    }
}

/// `message` as JSON with the end of its line, for streams.
package func controlLine(_ message: some Encodable) -> [UInt8] {
    controlJSON(message) + [UInt8(ascii: "\n")]
}
