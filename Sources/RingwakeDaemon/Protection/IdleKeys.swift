internal import DataProtection
internal import RingwakeCore
internal import RunLoop

/// The keys of a store that no daemon has open, as far as nobody has to be asked for them.
enum IdleKeys {
    /// - Parameter directory: the folder with the file of keys.
    /// - Returns: without a file, nothing is protected. With a passphrase, a TPM, or a key that can't be read, everything
    ///   is locked.
    /// - Throws: `failed` if the file is damaged.
    static func ring(inDirectory directory: String) throws(RingwakeError) -> KeyRing {
        guard let file = try ProtectionFile.read("\(directory)/\(ProtectionFile.name)", repairs: false) else {
            return .off
        }
        guard [.keyFile, .credential].contains(file.source.kind),
            let rootKey = try? file.source.rootKey(
                credentialsDirectory: processEnvironment()["CREDENTIALS_DIRECTORY"]),
            let ring = try? file.ring(
                rootKey: rootKey, available: Set(ProtectionClass.withKeys), classes: [:])
        else { return try file.ring(rootKey: nil, available: [], classes: [:]) }
        return ring
    }
}
