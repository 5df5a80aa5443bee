import CRingwakeOpenSSL
import RingwakeCore

/// Writes the few DER elements (X.690) that occur in the extensions of our certificates.
enum DERWriter {
    private enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let utf8String: UInt8 = 0x0C
        static let sequence: UInt8 = 0x30
    }

    /// An element: tag, length in its shortest form, content.
    static func element(_ tag: UInt8, _ content: some Collection<UInt8>) -> [UInt8] {
        var bytes = [tag]
        if content.count < 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: content.count))
        } else {
            var length: [UInt8] = []
            var rest = content.count
            while rest > 0 {
                length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
                rest >>= 8
            }
            bytes.append(0x80 | UInt8(truncatingIfNeeded: length.count))
            bytes.append(contentsOf: length)
        }
        bytes.append(contentsOf: content)
        return bytes
    }

    static func sequence(_ elements: [UInt8]...) -> [UInt8] {
        element(Tag.sequence, Array(elements.joined()))
    }

    static func sequence(of elements: [[UInt8]]) -> [UInt8] {
        element(Tag.sequence, Array(elements.joined()))
    }

    static func utf8String(_ text: String) -> [UInt8] {
        element(Tag.utf8String, Array(text.utf8))
    }

    static func octetString(_ bytes: [UInt8]) -> [UInt8] {
        element(Tag.octetString, bytes)
    }

    /// A BIT STRING of up to eight named bits, without the last `unusedBits`.
    static func bitString(_ bits: UInt8, unusedBits: UInt8) -> [UInt8] {
        element(Tag.bitString, [unusedBits, bits])
    }

    /// TRUE; DER leaves FALSE out where it is the default.
    static let isTrue = element(Tag.boolean, [0xFF])
    static let null = element(Tag.null, [])

    /// A small non-negative INTEGER.
    static func integer(_ value: UInt8) -> [UInt8] {
        element(Tag.integer, value < 0x80 ? [value] : [0, value])
    }

    /// An OBJECT IDENTIFIER from its dotted form.
    static func objectIdentifier(_ dotted: String) throws(RingwakeError) -> [UInt8] {
        guard let object = OBJ_txt2obj(dotted, 1) else { throw .openSSL("encode the object identifier \(dotted)") }
        defer { ASN1_OBJECT_free(object) }
        guard let der = PEM.der({ i2d_ASN1_OBJECT(object, $0) }) else {
            throw .openSSL("encode the object identifier \(dotted)")
        }
        return der
    }
}
