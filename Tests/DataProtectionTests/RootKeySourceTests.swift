import Cryptography
import DataProtection
import FileSystem
import Glibc
import RingwakeCore
import Testing

@Suite struct RootKeySourceTests {
    private let folder: TemporaryDirectory
    private let content = [UInt8](0..<32)

    init() throws { folder = try TemporaryDirectory() }

    private func key(_ source: RootKeySource) throws -> [UInt8] {
        bytes(try source.rootKey(credentialsDirectory: folder.root).bytes)
    }

    @Test("The same content is the same key, by HKDF, as a credential and as a key file")
    func derivation() throws {
        let path = try folder.write("key", content)
        // HKDF-SHA256 of these bytes without a salt, computed by Python's hmac.
        let expected = "e64f19213a66702d87b619c8101ba8c2a4e4130ac52ce22b35d8e58731e819eb"
        #expect(encodeHex(try key(.keyFile(path))) == expected)
        #expect(encodeHex(try key(.credential("key"))) == expected)
        try folder.write("key", content + [0])
        #expect(encodeHex(try key(.keyFile(path))) != expected)
    }

    @Test("A content has 32 to 4,096 bytes")
    func sizes() throws {
        for (count, isKey) in [(0, false), (31, false), (32, true), (4096, true), (4097, false), (100_000, false)] {
            let path = try folder.write("key", [UInt8](repeating: 1, count: count))
            for source in [.keyFile(path), .credential("key")] as [RootKeySource] {
                if isKey {
                    #expect(try key(source).count == RootKey.byteCount)
                } else {
                    try expect(.badCredential, "head -c 32") { _ = try key(source) }
                }
            }
        }
    }

    @Test("A key file that others may use is refused, with its name, its mode and what to do")
    func modes() throws {
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o601, 0o610, 0o4660] as [UInt32] {
            let path = try folder.write("key", content, mode: mode)
            try expect(.badCredential, "'\(path)' has mode 0\(String(mode, radix: 8))") { _ = try key(.keyFile(path)) }
            try expect(.badCredential, "chmod 600 \(path)") { _ = try key(.keyFile(path)) }
            // systemd decides about its own files.
            #expect(try key(.credential("key")).count == RootKey.byteCount)
        }
        for mode in [0o600, 0o400, 0o700] as [UInt32] {
            let path = try folder.write("key", content, mode: mode)
            #expect(try key(.keyFile(path)).count == RootKey.byteCount)
        }
    }

    @Test("A key file of another user is refused", .enabled(if: geteuid() == 0))
    func owner() throws {
        let path = try folder.write("key", content)
        try FileSystem.setAttributes(FileAttributes(owner: 65_534, group: 65_534, mode: 0o600), of: path)
        try expect(.badCredential, "belongs to the user 65534") { _ = try key(.keyFile(path)) }
    }

    @Test("What is missing, a folder, a pipe or a link to nothing is an error that says so")
    func kinds() throws {
        try expect(.notFound, "doesn't exist") { _ = try key(.keyFile(folder.path("none"))) }
        try expect(.notFound, "LoadCredential=none:FILE") { _ = try key(.credential("none")) }
        try expect(.badCredential, "no regular file") { _ = try key(.keyFile(folder.root)) }
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        try expect(.badCredential, "no regular file") { _ = try key(.keyFile(folder.path("pipe"))) }
        #expect(symlink("nowhere", folder.path("link")) == 0)
        try expect(.notFound, "doesn't exist") { _ = try key(.keyFile(folder.path("link"))) }
        try expect(.badConfiguration, "absolute") { _ = try key(.keyFile("key")) }
    }

    @Test("A credential is a name in the directory that systemd passes")
    func credentials() throws {
        try expect(.notFound, "$CREDENTIALS_DIRECTORY isn't set") {
            _ = try RootKeySource.credential("key").rootKey(credentialsDirectory: nil)
        }
        try expect(.notFound, "$CREDENTIALS_DIRECTORY isn't set") {
            _ = try RootKeySource.credential("key").rootKey(credentialsDirectory: "")
        }
        for name in ["", ".", "..", "../key", "/key", "a/b", "a\0", String(repeating: "x", count: 256)] {
            try expect(.badConfiguration, "no name of a credential") { _ = try key(.credential(name)) }
        }
    }

    @Test("A passphrase's key is that of scrypt, and comes from a person only")
    func passphrase() throws {
        let cost = try #require(ScryptParameters(n: 16, r: 1, p: 1))
        // RFC 7914 section 12 has no vector with 32 bytes, so this was computed by Python's hashlib.scrypt.
        var text = Array("pleaseletmein".utf8)
        let rootKey = try RootKey(passphrase: Passphrase(wiping: &text), salt: Array("SodiumChlorideSa".utf8), cost)
        #expect(encodeHex(bytes(rootKey.bytes)) == "409aa045f4575bf27da2ad017bee5c16a25add7466d0d4560c041279f716c8a0")
        let (one, other) = (try RootKeySource.newPassphrase(cost), try RootKeySource.newPassphrase(cost))
        #expect(one.needsPerson && one != other)
        try expect(.locked, "passphrase") { _ = try key(one) }
        guard case .passphrase(let salt, let parameters) = try RootKeySource.newPassphrase() else {
            Issue.record("another source")
            return
        }
        #expect(salt.count == 16 && parameters == .standard)
        #expect(RootKeySource.Kind.allCases.map(\.rawValue) == ["credential", "key-file", "passphrase", "tpm"])
    }

    @Test("A root key has 32 bytes")
    func size() throws {
        for count in [0, 31, 33] {
            try expect(.invalidRequest, "these are \(count)") {
                _ = try RootKey(bytes: SecretBytes(random: count))
            }
        }
        #expect(try bytes(RootKey.random().bytes) != bytes(RootKey.random().bytes))
    }
}
