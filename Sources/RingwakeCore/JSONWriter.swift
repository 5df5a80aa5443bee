/// Writes one JSON object ([RFC 8259]) with its members in the order in which they are added. For what is written for
/// every push: an encoder of arbitrary types takes longer than the rest of the write.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: about how many bytes it will have.
    package init(capacity: Int = 512, _ members: (inout JSONWriter) -> Void) {
        bytes.reserveCapacity(capacity)
        object(members)
    }

    /// The object as one line with its end, for streams of lines. A payload may hold line ends between its tokens, where
    /// a space means the same; within strings they are escaped. Without this a payload could hold a line of its own.
    package var line: [UInt8] {
        var line = bytes.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        string(text)
    }

    package mutating func add<Word: RawRepresentable<String>>(_ name: String, _ word: Word?) {
        add(name, word?.rawValue)
    }

    package mutating func add<Number: FixedWidthInteger>(_ name: String, _ number: Number?) {
        guard let number else { return }
        begin(name)
        bytes += String(number).utf8
    }

    package mutating func add(_ name: String, _ flag: Bool?) {
        guard let flag else { return }
        begin(name)
        bytes += (flag ? "true" : "false").utf8
    }

    /// A member whose value is JSON already, such as a payload: its bytes stay as they are.
    package mutating func add(_ name: String, json: some Sequence<UInt8>) {
        begin(name)
        bytes += json
    }

    package mutating func add(_ name: String, _ members: (inout JSONWriter) -> Void) {
        begin(name)
        object(members)
    }

    package mutating func add<Element>(
        _ name: String, array elements: [Element], _ write: (Element, inout JSONWriter) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(element, &self)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// An object as an element of an array.
    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// JSON as an element of an array: its bytes stay as they are.
    package mutating func append(json: some Sequence<UInt8>) { bytes += json }

    /// A string as an element of an array. The quotation mark, the reverse solidus and the control characters U+0000
    /// to U+001F are escaped, all else stands for itself ([RFC 8259 § 7]).
    package mutating func string(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes += (digits.utf8.count == 1 ? "\\u000" : "\\u00").utf8
                bytes += digits.utf8
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func begin(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
    }
}
