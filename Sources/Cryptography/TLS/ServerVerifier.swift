import CRingwakeOpenSSL
import Glibc
import RingwakeCore

/// Judges the certificates that a server shows in a handshake.
final class ServerVerifier {
    /// The longest DNS name (RFC 1035 section 2.3.4), in bytes.
    private static let maximumNameBytes = 253

    /// The server's name or address.
    let name: SubjectAlternativeName
    private let trust: TLSTrust
    private let earliestTime: Int64
    private var refusal: String?

    init(name: SubjectAlternativeName, trust: TLSTrust, earliestTime: Int64) {
        self.name = name
        self.trust = trust
        self.earliestTime = earliestTime
    }

    /// Reads a user's input: an IP address, with or without a zone, or a DNS name, with or without the last dot.
    ///
    /// - Throws: `invalidRequest` for anything else.
    static func name(_ text: String) throws(RingwakeError) -> SubjectAlternativeName {
        let address = text.prefix { $0 != "%" }
        if case .ip(let bytes) = SubjectAlternativeName(String(address)) { return .ip(bytes) }
        let name = text.hasSuffix(".") ? String(text.dropLast()) : text
        guard (1...maximumNameBytes).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isNameByte })
        else {
            throw RingwakeError(
                .invalidRequest,
                "'\(text)' is no name of a server; use a DNS name such as 'gateway.example' or an IP address.")
        }
        return .dns(name)
    }

    /// The time that certificates are judged at, in seconds since 1970.
    var judgedAt: Int64 { max(Int64(time(nil)), earliestTime) }

    private var words: CertificateRefusal { CertificateRefusal(name: name, judgedAt: judgedAt) }

    /// Why the last chain was refused, for a person; asking forgets it.
    func takeRefusal() -> String? {
        defer { refusal = nil }
        return refusal
    }

    /// Judges the chain in an `X509_STORE_CTX` that OpenSSL has set up for a handshake, and leaves the verdict there.
    func accepts(_ store: OpaquePointer) -> Bool {
        refusal = nil
        defer { OpenSSLErrors.clear() }
        guard let parameters = X509_STORE_CTX_get0_param(store), let leaf = X509_STORE_CTX_get0_cert(store) else {
            return refuse(store, Int(X509_V_ERR_UNSPECIFIED), "it shows no certificate")
        }
        if case .pin(let digest) = trust { return accepts(store, leaf: leaf, pin: digest) }
        guard requireName(parameters) else {
            return refuse(store, Int(X509_V_ERR_OUT_OF_MEM), "its name cannot be checked for lack of memory")
        }
        X509_VERIFY_PARAM_set_time(parameters, time_t(judgedAt))
        if X509_verify_cert(store) == 1 { return true }
        return refuse(store, Int(X509_STORE_CTX_get_error(store)), words.reason(store, leaf: leaf))
    }

    /// Whether the leaf has the pinned key, or leads by signatures to a shown certificate with the pinned key.
    ///
    /// That a certificate with the pinned key is among those shown proves nothing: CA certificates are public.
    private func accepts(_ store: OpaquePointer, leaf: OpaquePointer, pin: [UInt8]) -> Bool {
        if Self.keyDigest(of: leaf) == pin {
            X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        let shown = X509_STORE_CTX_get0_untrusted(store)
        var isPinShown = false
        for index in 0..<max(0, ringwake_sk_X509_num(shown)) {
            guard let anchor = ringwake_sk_X509_value(shown, index), Self.keyDigest(of: anchor) == pin else { continue }
            let outcome = verify(leaf, shown: shown, anchor: anchor, like: store)
            if outcome == X509_V_OK {
                X509_STORE_CTX_set_error(store, X509_V_OK)
                return true
            }
            // The first one explains the refusal.
            if !isPinShown { _ = refuse(store, Int(outcome), words.reason(pinnedTo: anchor, leaf: leaf, outcome)) }
            isPinShown = true
        }
        if isPinShown { return false }
        return refuse(
            store, Int(X509_V_ERR_APPLICATION_VERIFICATION),
            "neither it nor a CA that it shows has the pinned key (it shows \(CertificateRefusal.describe(leaf))); "
                + "this is another server, or its key has changed and the device must be paired again")
    }

    /// Verifies the leaf against `anchor` alone, without dates: the `X509_V_` number of the first error.
    private func verify(
        _ leaf: OpaquePointer, shown: OpaquePointer?, anchor: OpaquePointer, like original: OpaquePointer
    ) -> Int32 {
        guard let trusted = OwnedPointer(X509_STORE_new(), freedBy: X509_STORE_free),
            let check = OwnedPointer(X509_STORE_CTX_new(), freedBy: X509_STORE_CTX_free),
            X509_STORE_add_cert(trusted.pointer, anchor) == 1,
            X509_STORE_CTX_init(check.pointer, trusted.pointer, leaf, shown) == 1,
            X509_STORE_CTX_set_default(check.pointer, "ssl_server") == 1,
            let parameters = X509_STORE_CTX_get0_param(check.pointer), requireName(parameters)
        else { return X509_V_ERR_OUT_OF_MEM }
        X509_STORE_CTX_set_flags(check.pointer, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME))
        if let strength = X509_STORE_CTX_get0_param(original) {
            X509_VERIFY_PARAM_set_auth_level(parameters, X509_VERIFY_PARAM_get_auth_level(strength))
        }
        if X509_verify_cert(check.pointer) == 1 { return X509_V_OK }
        let error = X509_STORE_CTX_get_error(check.pointer)
        // A failure without an error would be read as trust.
        return error == X509_V_OK ? X509_V_ERR_UNSPECIFIED : error
    }

    /// Has OpenSSL check the server's name: in the alternative names alone, as the common name has no defined form.
    private func requireName(_ parameters: OpaquePointer) -> Bool {
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        return switch name {
        case .dns(let name): X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1
        case .ip(let address): X509_VERIFY_PARAM_set1_ip(parameters, address, address.count) == 1
        }
    }

    private func refuse(_ store: OpaquePointer, _ error: Int, _ reason: String) -> Bool {
        X509_STORE_CTX_set_error(
            store, error == Int(X509_V_OK) ? X509_V_ERR_UNSPECIFIED : Int32(truncatingIfNeeded: error))
        refusal = "the server's certificate is refused: \(reason)"
        return false
    }

    /// SHA-256 of the SubjectPublicKeyInfo.
    private static func keyDigest(of certificate: OpaquePointer) -> [UInt8]? {
        guard let key = X509_get_X509_PUBKEY(certificate) else { return nil }
        return PEM.der { i2d_X509_PUBKEY(key, $0) }.map { SHA256.digest($0) }
    }
}
