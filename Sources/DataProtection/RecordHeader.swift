package import RingwakeCore

/// The first bytes of each protected record. They say with which key it can be read, and are not secret.
///
///     format (1)   form (1)   class (1)   generation (4, most significant byte first)
package struct RecordHeader: Hashable, Sendable {
    /// The size of a header in bytes.
    package static let bytes = 7
    private static let format: UInt8 = 1

    /// How the content is stored.
    package enum Form: UInt8, Sendable {
        /// As it is: the class is `none`.
        case plain = 0
        /// Encrypted with the class's symmetric key.
        case encrypted = 1
        /// Sealed to the class's public key, because the private one was not available.
        case sealed = 2
    }

    package var form: Form
    package var protection: ProtectionClass
    /// Of the class's keys; 0 without protection.
    package var generation: UInt32

    package init(form: Form, protection: ProtectionClass, generation: UInt32) {
        self.form = form
        self.protection = protection
        self.generation = generation
    }

    /// Reads the header of a record.
    /// - Returns: nil if no version writes such a header.
    package init?(_ record: [UInt8]) {
        guard record.count >= Self.bytes, record[0] == Self.format, let form = Form(rawValue: record[1]),
            let protection = ProtectionClass(number: record[2])
        else { return nil }
        let generation = record[3..<Self.bytes].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard (protection == .none) == (form == .plain), (generation == 0) == (form == .plain) else { return nil }
        self.init(form: form, protection: protection, generation: generation)
    }

    /// The header as it is written.
    package var encoded: [UInt8] {
        [Self.format, form.rawValue, protection.number]
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: generation >> ($0 * 8)) }
    }
}

extension ProtectionClass {
    /// The number in a header. It never changes.
    package var number: UInt8 {
        switch self {
        case .none: 0
        case .complete: 1
        case .completeUnlessOpen: 2
        case .completeUntilFirstUserAuthentication: 3
        }
    }

    package init?(number: UInt8) {
        guard let found = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = found
    }
}
