import CRingwakeOpenSSL
import RingwakeCore

/// Counts the rounds of password hashing that reading a PKCS#12 file costs, before they are spent.
///
/// A file names a number of rounds in each place that has a password: its MAC, each encrypted safe, and each encrypted
/// key, also those inside an encrypted safe (RFC 7292 section 4). Each place may name billions, and there may be
/// thousands of places; what is bounded is their sum.
struct PKCS12Rounds {
    /// Maximum rounds of a file: one or two seconds of work. Usual files have at most 600,000 in each of three places.
    static let maximum: Int64 = 3_000_000
    /// Bags may contain bags.
    private static let maximumDepth = 8

    private let password: String
    private var total: Int64 = 0

    private init(password: String) {
        self.password = password
    }

    /// What may be counted before the password is known to be right.
    ///
    /// - Throws: `badCredential` if the MAC alone asks for more than ``maximum``.
    static func checkMAC(of file: OpaquePointer) throws(RingwakeError) {
        var counter = PKCS12Rounds(password: "")
        try counter.addMAC(of: file)
    }

    /// Decrypts safes to count what is in them, but nothing that goes beyond the maximum. A safe that cannot be
    /// decrypted counts without its contents: it is not read either.
    ///
    /// - Throws: `badCredential` if reading the whole file costs more than ``maximum``.
    static func check(_ file: OpaquePointer, password: String) throws(RingwakeError) {
        var counter = PKCS12Rounds(password: password)
        try counter.addMAC(of: file)
        defer { OpenSSLErrors.clear() }
        guard let safes = OwnedPointer(PKCS12_unpack_authsafes(file), freedBy: ringwake_sk_PKCS7_pop_free) else {
            return
        }
        for index in 0..<max(0, ringwake_sk_PKCS7_num(safes.pointer)) {
            guard let safe = ringwake_sk_PKCS7_value(safes.pointer, index) else { continue }
            try counter.add(safe: safe)
        }
    }

    private mutating func addMAC(of file: OpaquePointer) throws(RingwakeError) {
        var rounds: UnsafePointer<ASN1_INTEGER>?
        var algorithm: UnsafePointer<X509_ALGOR>?
        PKCS12_get0_mac(nil, &algorithm, nil, &rounds, file)
        // Without a number there is one round.
        if let rounds { try add(rounds) }
        // PBMAC1 (RFC 9579) has its rounds here.
        if let algorithm { try add(algorithm) }
    }

    private mutating func add(safe: UnsafeMutablePointer<PKCS7>) throws(RingwakeError) {
        switch OBJ_obj2nid(safe.pointee.type) {
        case NID_pkcs7_data:
            try add(bags: PKCS12_unpack_p7data(safe), depth: 1)
        case NID_pkcs7_encrypted:
            guard let algorithm = safe.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm else { return }
            try add(algorithm)
            // As PKCS12_parse: an empty password is an empty string to some writers, and none at all to others.
            let bags =
                PKCS12_unpack_p7encdata(safe, password, -1)
                ?? (password.isEmpty ? PKCS12_unpack_p7encdata(safe, nil, 0) : nil)
            try add(bags: bags, depth: 1)
        default:
            return
        }
    }

    private mutating func add(bags: OpaquePointer?, depth: Int) throws(RingwakeError) {
        guard let bags = OwnedPointer(bags, freedBy: ringwake_sk_PKCS12_SAFEBAG_pop_free) else { return }
        try add(each: bags.pointer, depth: depth)
    }

    private mutating func add(each bags: OpaquePointer, depth: Int) throws(RingwakeError) {
        guard depth <= Self.maximumDepth else {
            throw Self.refusal("nests bags deeper than \(Self.maximumDepth); export it again")
        }
        for index in 0..<max(0, ringwake_sk_PKCS12_SAFEBAG_num(bags)) {
            guard let bag = ringwake_sk_PKCS12_SAFEBAG_value(bags, index) else { continue }
            switch PKCS12_SAFEBAG_get_nid(bag) {
            case NID_pkcs8ShroudedKeyBag:
                var algorithm: UnsafePointer<X509_ALGOR>?
                X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
                if let algorithm { try add(algorithm) }
            case NID_safeContentsBag:
                if let inner = PKCS12_SAFEBAG_get0_safes(bag) { try add(each: inner, depth: depth + 1) }
            default:
                continue
            }
        }
    }

    /// Adds the rounds that an algorithm's parameters name. Algorithms without a password have none.
    private mutating func add(_ algorithm: UnsafePointer<X509_ALGOR>) throws(RingwakeError) {
        var object: OpaquePointer?
        var type: Int32 = 0
        var value: UnsafeRawPointer?
        X509_ALGOR_get0(&object, &type, &value, algorithm)
        let parameters = type == V_ASN1_SEQUENCE ? value?.assumingMemoryBound(to: ASN1_STRING.self) : nil
        switch OBJ_obj2nid(object) {
        case NID_pbes2, NID_pbmac1:
            // PBMAC1's parameters have the form of PBES2's (RFC 8018 appendix A).
            guard let schemes = decoded(parameters, by: { d2i_PBE2PARAM(nil, $0, $1) }) else { return }
            defer { PBE2PARAM_free(schemes) }
            if let derivation = schemes.pointee.keyfunc { try add(derivation) }
        case NID_id_pbkdf2:
            guard let derivation = decoded(parameters, by: { d2i_PBKDF2PARAM(nil, $0, $1) }) else { return }
            defer { PBKDF2PARAM_free(derivation) }
            if let rounds = derivation.pointee.iter { try add(rounds) }
        case NID_id_scrypt:
            throw Self.refusal("uses scrypt, whose memory it chooses itself; export it again with PBKDF2")
        default:
            // PBES1, and the schemes of PKCS#12 itself (RFC 7292 appendix C).
            guard let scheme = decoded(parameters, by: { d2i_PBEPARAM(nil, $0, $1) }) else { return }
            defer { PBEPARAM_free(scheme) }
            if let rounds = scheme.pointee.iter { try add(rounds) }
        }
    }

    private func decoded<Value>(
        _ parameters: UnsafePointer<ASN1_STRING>?,
        by decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> UnsafeMutablePointer<Value>?
    ) -> UnsafeMutablePointer<Value>? {
        guard let parameters else { return nil }
        var cursor = ASN1_STRING_get0_data(parameters)
        return decode(&cursor, Int(ASN1_STRING_length(parameters)))
    }

    private mutating func add(_ rounds: UnsafePointer<ASN1_INTEGER>) throws(RingwakeError) {
        var count: Int64 = 0
        let isRead = ASN1_INTEGER_get_int64(&count, rounds) == 1 && (1...Self.maximum).contains(count)
        total += isRead ? count : Self.maximum
        guard isRead, total <= Self.maximum else {
            throw Self.refusal(
                "asks for more than \(Self.maximum) rounds of hashing its password, in all its parts; "
                    + "export it again with fewer")
        }
    }

    private static func refusal(_ what: String) -> RingwakeError {
        OpenSSLErrors.clear()
        return RingwakeError(.badCredential, "The PKCS#12 file \(what).")
    }
}
