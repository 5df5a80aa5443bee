internal import DataProtection
internal import RingwakeCore

/// How an index of callers is protected: its keys are hashed, and its labels are records. So a locked device finds who is
/// blocked, and can't show a name.
nonisolated struct IndexRecords {
    let vault: RecordVault
    /// Whether the keys of an existing file are hashes; nil: as the present keys say. Until it has been built anew, callers are
    /// looked up as it was built.
    var isFileHashed: Bool?

    /// Whether there is a key for look-ups, or will be when the device is unlocked.
    var mayGetKey: Bool { isHashed || vault.ring.lookup != nil }

    private var isHashed: Bool { vault.ring.header(of: .lists).form != .plain }

    /// The key in the file.
    /// - Throws: `locked` if the key for look-ups isn't there yet, `failed` if OpenSSL can't make the hash.
    func key(of text: String) throws(RingwakeError) -> [UInt8] {
        guard isFileHashed ?? isHashed else { return Array(text.utf8) }
        return try hash(of: text)
    }

    private func hash(of text: String) throws(RingwakeError) -> [UInt8] {
        guard let lookup = vault.ring.lookup else { throw ListError.locked(vault.ring.header(of: .lists).protection) }
        return try lookup.hash(of: Self.purpose + text)
    }

    /// Differs from the purpose of the store's keys: nobody can compare an index with the lists.
    private static let purpose = "index:"

    func seal(_ label: String?, key: [UInt8]) throws(RingwakeError) -> [UInt8]? {
        guard let label else { return nil }
        return try vault.seal(Array(label.utf8), .lists, place: Self.place(key))
    }

    /// - Returns: nil for a label that can't be read now.
    func open(_ label: [UInt8]?, key: [UInt8]) -> String? {
        guard let label, let bytes = try? vault.open(label, .lists, place: Self.place(key)) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func place(_ key: [UInt8]) -> String { "index/\(encodeHex(key))" }

    /// What ``stamp()`` is without protection.
    static let unprotected = "none"

    /// Identifies the present keys.
    /// - Throws: as ``key(of:)``.
    func stamp() throws(RingwakeError) -> String {
        guard isHashed else { return Self.unprotected }
        let header = vault.ring.header(of: .lists)
        return "\(header.protection.rawValue)/\(header.generation)/\(encodeHex(try hash(of: "stamp")))"
    }
}
