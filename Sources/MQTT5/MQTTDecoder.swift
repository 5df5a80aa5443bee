/// Makes packets of the bytes of one connection (OASIS MQTT 5.0), strictly: what breaks the standard is refused.
///
/// Add bytes with ``consume(_:)`` as they arrive, and call ``next()`` until it returns nil. The result doesn't depend
/// on how the bytes are split. After an error the connection must be closed.
///
/// Between packets it holds no memory. Within one it holds what has arrived, at most ``maximumPacketBytes`` and the
/// bytes of one ``consume(_:)``.
package struct MQTTDecoder: Sendable {
    /// Maximum bytes of a packet with its fixed header. It may change between packets.
    package var maximumPacketBytes: Int

    private var buffer: [UInt8] = []
    /// Index of the first byte that isn't consumed.
    private var start = 0
    private var failure: MQTTError?

    /// The fixed header (section 2.1).
    private struct FixedHeader {
        var type: PacketType
        var flags: UInt8
        /// Where in the buffer the rest of the packet is, which may not be complete.
        var body: Range<Int>
    }

    package init(maximumPacketBytes: Int) {
        self.maximumPacketBytes = maximumPacketBytes
    }

    /// Received bytes of packets that aren't read yet; 0 after an error.
    package var bufferedByteCount: Int { buffer.count - start }

    /// Adds received bytes. After an error they are dropped.
    package mutating func consume(_ bytes: [UInt8]) {
        append(bytes)
    }

    /// Adds received bytes. After an error they are dropped.
    package mutating func consume(_ bytes: ArraySlice<UInt8>) {
        append(bytes)
    }

    /// Reads the next complete packet.
    ///
    /// - Returns: nil if more bytes are needed.
    /// - Throws: ``MQTTError`` with the reason code to send before closing. Later calls throw the same error.
    package mutating func next() throws(MQTTError) -> MQTTPacket? {
        if let failure { throw failure }
        do throws(MQTTError) {
            return try advance()
        } catch {
            failure = error
            buffer = []
            start = 0
            throw error
        }
    }

    private mutating func append(_ bytes: some Collection<UInt8>) {
        guard failure == nil else { return }
        // More bytes are dropped than moved, so the total cost stays linear.
        if start > bufferedByteCount { dropConsumed() }
        buffer.append(contentsOf: bytes)
    }

    private mutating func advance() throws(MQTTError) -> MQTTPacket? {
        guard let header = try fixedHeader(), header.body.upperBound <= buffer.count else {
            // Packets were read, and a part of one is left: the last time that these bytes are moved.
            if start > 0 { dropConsumed() }
            return nil
        }
        var reader = PacketReader(buffer, header.body, of: header.type)
        let packet = try MQTTPacket(header.type, flags: header.flags, &reader)
        start = header.body.upperBound
        if start == buffer.count { dropConsumed() }
        return packet
    }

    /// - Returns: nil if it isn't complete.
    private func fixedHeader() throws(MQTTError) -> FixedHeader? {
        guard start < buffer.count else { return nil }
        let first = buffer[start]
        guard let type = PacketType(rawValue: first >> 4) else { throw .malformed("a packet has the reserved type 0") }
        let flags = first & 0x0F
        guard type.requiredFlags.map({ $0 == flags }) ?? true else {
            throw .malformed("\(type.name) has the flags \(flags) in its first byte; they are reserved")
        }
        guard let (length, next) = try VariableByteInteger.read(buffer, at: start + 1, end: buffer.count) else {
            return nil
        }
        let total = next - start + length
        guard total <= maximumPacketBytes else {
            throw MQTTError(
                reason: .packetTooLarge,
                text: "\(type.name) has \(total) bytes; at most \(maximumPacketBytes) are taken")
        }
        return FixedHeader(type: type, flags: flags, body: next..<(next + length))
    }

    /// Gives back the memory of the bytes that were consumed.
    private mutating func dropConsumed() {
        buffer = start == buffer.count ? [] : Array(buffer[start...])
        start = 0
    }
}
