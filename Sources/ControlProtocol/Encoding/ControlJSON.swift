internal import FoundationEssentials

/// Encodes `message` as one line of JSON. Members are sorted, so that equal messages have equal bytes.
package func controlJSON(_ message: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
        // Callers are untrusted text, and a terminal may show the JSON directly.
        return PlainJSON.escaped(Array(try encoder.encode(message)))
    } catch {
        // The messages only contain strings, integers and Booleans, which always encode.
        preconditionFailure("a control message that does not encode: \(error)")
    }
}

/// `message` as a JSON line, for streams.
package func controlLine(_ message: some Encodable) -> [UInt8] {
    controlJSON(message) + [UInt8(ascii: "\n")]
}
