/// Type signatures (D-Bus Specification, "Type System").
///
/// sd-bus doesn't check the signatures that it sends, and a bus disconnects a client that sends an invalid one.
package enum DBusSignature {
    static let maximumBytes = 255
    private static let maximumArrays = 32
    private static let maximumStructures = 32

    /// Any number of complete types: what a value of type `g` may be.
    package static func isValid(_ text: String) -> Bool {
        guard text.utf8.count <= maximumBytes else { return false }
        var rest = text.utf8[...]
        while !rest.isEmpty {
            guard skipType(&rest, arrays: 0, structures: 0) else { return false }
        }
        return true
    }

    /// Exactly one complete type: what an array's element or a variant's value may be.
    package static func isSingle(_ text: String) -> Bool {
        guard text.utf8.count <= maximumBytes else { return false }
        var rest = text.utf8[...]
        return skipType(&rest, arrays: 0, structures: 0) && rest.isEmpty
    }

    /// A type that is no container: what a dictionary's key may be.
    package static func isBasic(_ text: String) -> Bool {
        guard let byte = text.utf8.first else { return false }
        return text.utf8.count == 1 && isBasic(byte)
    }

    private static func isBasic(_ byte: UInt8) -> Bool { "ybnqiuxtdsogh".utf8.contains(byte) }

    /// Takes one complete type from the front; the recursion is bounded by the two counts.
    private static func skipType(_ rest: inout Substring.UTF8View, arrays: Int, structures: Int) -> Bool {
        guard let byte = rest.popFirst() else { return false }
        switch byte {
        case UInt8(ascii: "v"): return true
        case UInt8(ascii: "("):
            guard structures < maximumStructures, rest.first != UInt8(ascii: ")") else { return false }
            while rest.first != UInt8(ascii: ")") {
                guard skipType(&rest, arrays: arrays, structures: structures + 1) else { return false }
            }
            return rest.popFirst() != nil
        case UInt8(ascii: "a"):
            guard arrays < maximumArrays else { return false }
            guard rest.first == UInt8(ascii: "{") else {
                return skipType(&rest, arrays: arrays + 1, structures: structures)
            }
            rest.removeFirst()
            guard structures < maximumStructures, let key = rest.popFirst(), isBasic(key),
                skipType(&rest, arrays: arrays + 1, structures: structures + 1)
            else { return false }
            return rest.popFirst() == UInt8(ascii: "}")
        default: return isBasic(byte)
        }
    }
}
