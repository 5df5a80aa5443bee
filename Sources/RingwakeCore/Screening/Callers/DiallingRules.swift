/// The rules for telephone numbers at the device's location. They make a national number equal to the same number in
/// E.164.
///
/// Without a country, a number that is not marked as international stays as it is.
package struct DiallingRules: Hashable, Sendable {
    /// The calling code of the country, without plus: `49`. Nil if it is not set.
    package let countryCode: String?
    /// The digits that are dialled before a national number and are not part of E.164: `0` in most of Europe, `1` in
    /// North America. Nil if there are none (Spain, Italy).
    package let trunkPrefix: String?
    /// The digits that are dialled before a calling code: `011` in North America, otherwise `00`, as ITU-T recommends.
    /// `00` means the same in North America, where no number begins so: it must mean one number wherever it is read.
    package let internationalPrefix: String

    /// The rules without a country; `00` is the international prefix.
    package static let none = DiallingRules()

    package init() {
        countryCode = nil
        trunkPrefix = nil
        internationalPrefix = "00"
    }

    /// - Throws: `invalidRequest` for a country that is not one to three digits beginning with 1 to 9, for a trunk
    ///   prefix that is not one to three digits, and for a trunk prefix without a country.
    package init(countryCode: String?, trunkPrefix: String? = nil) throws(RingwakeError) {
        if let countryCode, !DiallingRules.isCallingCode(countryCode) {
            throw RingwakeError(
                .invalidRequest,
                "'\(countryCode)' is no calling code: write one to three digits without + or zeros before them, as in 49"
            )
        }
        if let trunkPrefix, !(1...3).contains(trunkPrefix.utf8.count) || !trunkPrefix.utf8.allSatisfy(\.isDigit) {
            throw RingwakeError(
                .invalidRequest,
                "'\(trunkPrefix)' is no trunk prefix: write one to three digits, as in 0, or leave it out")
        }
        guard countryCode != nil || trunkPrefix == nil else {
            throw RingwakeError(
                .invalidRequest, "a trunk prefix says nothing without a country: set the calling code as well")
        }
        self.countryCode = countryCode
        self.trunkPrefix = trunkPrefix
        internationalPrefix = countryCode == "1" ? "011" : "00"
    }

    private static func isCallingCode(_ text: String) -> Bool {
        (1...3).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "0") && text.utf8.allSatisfy(\.isDigit)
    }

}

extension DiallingRules {
    // A shorter number is a service (110, 11833) or an extension, and is not part of a numbering plan.
    private static let fewestNationalDigits = 7
    // National numbers without a prefix are shorter than this, so a longer number begins with a calling code.
    private static let fewestDigitsWithCallingCode = 11
    // The length of a national number of the North American plan with its area code. Its trunk prefix may be omitted.
    private static let northAmericanDigits = 10

    /// The number in E.164 with its plus, or the unchanged digits if the E.164 form is unknown.
    /// - Parameters:
    ///   - digits: only digits, without a plus.
    ///   - isPrefix: whether these are the first digits of a number, which may be few.
    package func canonical(
        _ digits: Substring.UTF8View, isInternational: Bool, isPrefix: Bool = false
    ) -> String {
        if isInternational { return plus(digits) }
        for prefix in [internationalPrefix, "00"] {
            if let rest = after(prefix, digits), rest.first != UInt8(ascii: "0") { return plus(rest) }
        }
        guard let country = countryCode, isPrefix || digits.count >= DiallingRules.fewestNationalDigits else {
            return text(digits)
        }
        if let trunkPrefix, let rest = after(trunkPrefix, digits) { return "+\(country)\(text(rest))" }
        let isAreaCode = digits.first != UInt8(ascii: "0") && digits.first != UInt8(ascii: "1")
        if country == "1", isPrefix ? isAreaCode : digits.count == DiallingRules.northAmericanDigits {
            return "+1\(text(digits))"
        }
        if !isPrefix, digits.count >= DiallingRules.fewestDigitsWithCallingCode,
            trunkPrefix != nil || after(country, digits) != nil
        {
            return plus(digits)
        }
        return trunkPrefix == nil ? "+\(country)\(text(digits))" : text(digits)
    }

    private func after(_ prefix: String, _ digits: Substring.UTF8View) -> Substring.UTF8View? {
        guard digits.count > prefix.utf8.count, digits.starts(with: prefix.utf8) else { return nil }
        return digits.dropFirst(prefix.utf8.count)
    }

    private func text(_ digits: Substring.UTF8View) -> String { String(Substring(digits)) }

    private func plus(_ digits: Substring.UTF8View) -> String { "+\(text(digits))" }
}

extension UInt8 {
    /// Whether the byte is `0` to `9` in ASCII.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
