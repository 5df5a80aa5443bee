/// How a modem is connected to its network, from the oldest to the newest.
package nonisolated enum AccessTechnology: String, Sendable, CaseIterable {
    case gsm, gprs, edge, wcdma, hsdpa, hsupa, hspa, hspaPlus
    case cdma1x, evdoRev0, evdoRevA, evdoRevB
    case nbIoT, lteM, lte
    /// 5G beside LTE (non-standalone).
    case nrNSA
    case nr

    /// The bits of MMModemAccessTechnology, the newest first: a modem may have several.
    private static let bits: [(bit: UInt32, technology: AccessTechnology)] = [
        (1 << 15, .nr), (1 << 14, .lte), (1 << 16, .lteM), (1 << 17, .nbIoT), (1 << 13, .evdoRevB),
        (1 << 12, .evdoRevA), (1 << 11, .evdoRev0), (1 << 10, .cdma1x), (1 << 9, .hspaPlus), (1 << 8, .hspa),
        (1 << 7, .hsupa), (1 << 6, .hsdpa), (1 << 5, .wcdma), (1 << 4, .edge), (1 << 3, .gprs), (1 << 2, .gsm),
        (1 << 1, .gsm),
    ]

    /// Nil if ModemManager doesn't know it, or says any.
    ///
    /// - Parameter mask: `AccessTechnologies` of ModemManager's Modem.
    init?(mask: UInt32) {
        guard mask != .max, let newest = Self.bits.first(where: { mask & $0.bit != 0 })?.technology else { return nil }
        let has = { (technology: AccessTechnology) in
            Self.bits.contains { $0.technology == technology && mask & $0.bit != 0 }
        }
        switch newest {
        case .nr where has(.lte): self = .nrNSA
        case .hsupa where has(.hsdpa): self = .hspa
        default: self = newest
        }
    }
}
