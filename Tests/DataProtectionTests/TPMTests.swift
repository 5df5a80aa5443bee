import Cryptography
import DataProtection
import RingwakeCore
import Testing

@Suite(.serialized) struct TPMTests {
    @Test("A TPM opens what it has sealed, also after a power cut, and no other TPM does")
    func seal() throws {
        let tpm = try SoftwareTPM()
        let secret = try SecretBytes(random: 32)
        let sealed = try TPM.seal(secret)
        #expect(sealed.key.hasPrefix("-----BEGIN TSS2 PRIVATE KEY-----"))
        #expect(try bytes(TPM.open(sealed)) == bytes(secret))
        #expect(try TPM.seal(secret) != sealed)
        let state = try tpm.stop()

        let other = try SoftwareTPM()
        try expect(.badCredential, "another TPM") { _ = try TPM.open(sealed) }
        try other.stop()

        let again = try SoftwareTPM(state)
        #expect(try bytes(TPM.open(sealed)) == bytes(secret))
        try again.stop()
    }

    @Test("Without a TPM, the error names how it was tried")
    func absent() throws {
        let tpm = try SoftwareTPM()
        let sealed = try TPM.seal(SecretBytes(random: 32))
        try tpm.stop()
        try expect(.unreachable, "swtpm:path=") { _ = try TPM.open(sealed) }
        try expect(.unreachable, "swtpm:path=") { _ = try TPM.seal(SecretBytes(random: 32)) }
    }

    @Test("A changed key and a changed secret are refused")
    func changed() throws {
        let (tpm, secret) = (try SoftwareTPM(), try SecretBytes(random: 32))
        let sealed = try TPM.seal(secret)
        for index in stride(from: 0, to: sealed.sealed.count, by: 7) {
            var changed = sealed.sealed
            changed[index] ^= 1
            let made = try #require(TPMSealedKey(key: sealed.key, sealed: changed))
            try expect(.badCredential, "isn't sealed to the TPM's key") { _ = try TPM.open(made) }
        }
        let own = try PrivateKey.generate(.p256)
        for key in [
            String(decoding: try own.pem, as: UTF8.self), String(sealed.key.prefix(200)), "x",
            sealed.key.replacing("MIH", with: "MIG"),
        ] {
            let made = try #require(TPMSealedKey(key: key, sealed: sealed.sealed))
            try expect(.badCredential, "the TPM's key is damaged") { _ = try TPM.open(made) }
        }
        // The TPM checks what OpenSSL can read. Some values mean the same: a Boolean in DER is each but 0.
        var pem = Array(sealed.key.utf8)
        for index in stride(from: 34, to: pem.count - 34, by: 5) where pem[index] != UInt8(ascii: "\n") {
            let former = pem[index]
            pem[index] = former == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let made = try #require(TPMSealedKey(key: String(decoding: pem, as: UTF8.self), sealed: sealed.sealed))
            if let opened = try? TPM.open(made) { #expect(bytes(opened) == bytes(secret), "character \(index)") }
            pem[index] = former
        }
        #expect(TPMSealedKey(key: sealed.key, sealed: sealed.sealed.dropLast()) == nil)
        #expect(TPMSealedKey(key: "", sealed: sealed.sealed) == nil)
        #expect(
            TPMSealedKey(
                key: String(repeating: "x", count: TPMSealedKey.maximumKeyBytes + 1), sealed: sealed.sealed) == nil)
        try tpm.stop()
    }

    @Test("A file whose root key is in a TPM is read with this TPM")
    func file() throws {
        let (tpm, folder) = (try SoftwareTPM(), try TemporaryDirectory())
        let (source, rootKey) = try RootKeySource.newTPM()
        #expect(source.kind == .tpm && !source.needsPerson)
        let file = try ProtectionFile.make(source, rootKey)
        try file.write(folder.path(ProtectionFile.name))
        let read = try #require(try ProtectionFile.read(folder.path(ProtectionFile.name)))
        #expect(read == file)
        let opened = try read.source.rootKey(credentialsDirectory: nil)
        try read.verify(opened)
        // Its look-up key is needed before anything is unlocked, so the TPM protects it too.
        #expect(try read.lookupKey(nil) == nil)
        #expect(try read.lookupKey(opened)?.hash(of: "1") == file.lookupKey(rootKey)?.hash(of: "1"))
        try tpm.stop()
    }
}

func bytes(_ secret: SecretBytes) -> [UInt8] { secret.withBytes { Array($0) } }

/// Expects an error with this code whose message has these words.
func expect(
    _ code: RingwakeError.Code, _ words: String, location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) throws {
    do {
        try body()
        Issue.record("no error", sourceLocation: location)
    } catch let error as RingwakeError {
        #expect(error.code == code, "\(error)", sourceLocation: location)
        #expect(error.message.contains(words), "\(error)", sourceLocation: location)
    }
}
