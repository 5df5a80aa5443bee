/// Reads the fields of one complete packet (section 1.5). What it returns is copied from the packet.
struct PacketReader {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int
    private let type: PacketType

    /// - Parameter range: where in `bytes` the packet is, without its fixed header.
    init(_ bytes: [UInt8], _ range: Range<Int>, of type: PacketType) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
        self.type = type
    }

    /// Bytes that aren't read yet.
    var count: Int { end - position }

    /// Name of the packet, for error texts.
    var name: String { type.name }

    mutating func byte() throws(MQTTError) -> UInt8 {
        bytes[try take(1)]
    }

    mutating func uint16() throws(MQTTError) -> UInt16 {
        let start = try take(2)
        return UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
    }

    mutating func uint32() throws(MQTTError) -> UInt32 {
        let high = UInt32(try uint16())
        return high << 16 | UInt32(try uint16())
    }

    mutating func variableByteInteger() throws(MQTTError) -> Int {
        guard let (value, next) = try VariableByteInteger.read(bytes, at: position, end: end) else { throw isTooShort }
        position = next
        return value
    }

    /// A UTF-8 string. It is well-formed, which rules surrogates out, and doesn't contain U+0000 ([MQTT-1.5.4-1],
    /// [MQTT-1.5.4-2]).
    mutating func string() throws(MQTTError) -> String {
        let content = try lengthPrefixed()
        guard !content.contains(0) else { throw .malformed("a string in \(name) contains U+0000") }
        do {
            // Not `String(validating:as:)`, which is generic: with it a small PUBLISH takes half as long again.
            return String(copying: try UTF8Span(validating: content.span))
        } catch {
            throw .malformed("a string in \(name) is not well-formed UTF-8")
        }
    }

    /// Binary Data (section 1.5.6).
    mutating func binary() throws(MQTTError) -> [UInt8] {
        Array(try lengthPrefixed())
    }

    /// A packet identifier, which isn't 0 (section 2.2.1).
    mutating func packetID() throws(MQTTError) -> UInt16 {
        let id = try uint16()
        guard id != 0 else { throw .protocolError("\(name) has the packet identifier 0") }
        return id
    }

    mutating func reason() throws(MQTTError) -> MQTTReason {
        MQTTReason(rawValue: try byte())
    }

    /// A topic name that isn't empty.
    mutating func topicName() throws(MQTTError) -> String {
        let name = try string()
        guard !name.isEmpty else { throw .protocolError("\(self.name) has an empty topic name") }
        try TopicRules.check(name: name, in: type)
        return name
    }

    mutating func topicFilter() throws(MQTTError) -> String {
        let filter = try string()
        try TopicRules.check(filter: filter, in: type)
        return filter
    }

    /// All bytes that are left.
    mutating func rest() -> [UInt8] {
        defer { position = end }
        return Array(bytes[position..<end])
    }

    /// The properties (section 2.2.2), as a part of their own.
    mutating func properties() throws(MQTTError) -> PropertyReader {
        let length = try variableByteInteger()
        guard length <= count else { throw .malformed("the properties of \(name) are longer than the packet") }
        let list = PacketReader(bytes, position..<(position + length), of: type)
        position += length
        return PropertyReader(list)
    }

    /// Checks that nothing is left.
    func finish() throws(MQTTError) {
        guard count == 0 else { throw .malformed("\(name) has \(count) bytes after its last field") }
    }

    private var isTooShort: MQTTError { .malformed("\(name) ends within a field") }

    /// - Returns: the index of the first of the bytes.
    private mutating func take(_ length: Int) throws(MQTTError) -> Int {
        guard length <= count else { throw isTooShort }
        defer { position += length }
        return position
    }

    private mutating func lengthPrefixed() throws(MQTTError) -> ArraySlice<UInt8> {
        let length = Int(try uint16())
        let start = try take(length)
        return bytes[start..<(start + length)]
    }
}
