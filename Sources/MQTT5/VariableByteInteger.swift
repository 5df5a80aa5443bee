/// Variable Byte Integers (section 1.5.5): seven bits a byte, the lowest first; the top bit says that another follows.
enum VariableByteInteger {
    /// The largest value that four bytes hold.
    static let maximum = 268_435_455

    /// Reads one.
    ///
    /// - Returns: the value and the index after it; nil if it isn't complete at `end`.
    static func read(_ bytes: [UInt8], at start: Int, end: Int) throws(MQTTError) -> (value: Int, next: Int)? {
        var value = 0
        var index = start
        while index < end {
            let byte = bytes[index]
            let position = index - start
            value |= Int(byte & 0x7F) << (7 * position)
            index += 1
            if byte < 0x80 {
                guard byte != 0 || position == 0 else {
                    throw .malformed("a Variable Byte Integer has more bytes than its value needs")
                }
                return (value, index)
            }
            guard position < 3 else { throw .malformed("a Variable Byte Integer has more than 4 bytes") }
        }
        return nil
    }
}
