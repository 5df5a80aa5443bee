/// Digests as text.
enum Hexadecimal {
    static func text(of bytes: [UInt8]) -> String {
        String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    private static let digits = Array("0123456789abcdef")
}
