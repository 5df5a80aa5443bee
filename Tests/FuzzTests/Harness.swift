/// Code that reads bytes of strangers, and what has to hold whatever the bytes are.
///
/// A trap is a finding by itself. A harness also checks what no trap shows: that the same bytes in other pieces give
/// the same result, that what our writer makes is what our parser reads, that limits hold.
///
/// ``CorpusTests`` runs each over its corpus, `Tests/Fixtures/fuzz/NAME`; `Tests/lab/fuzz/run` fuzzes them.
struct Harness {
    /// Also the name of the folder with its corpus.
    let name: String
    /// Maximum bytes of an input. Longer ones find little more, and take longer.
    let maximumBytes: Int
    /// Inputs that are made anew each time: what comes from keys.
    let made: () throws -> [[UInt8]]
    /// Whether inputs hold private keys, so that none may be in the tree.
    let holdsKeys: Bool
    /// Reads an input. Returns whether the code accepted it; throws a ``Violation``.
    let run: ([UInt8]) throws -> Bool

    init(
        _ name: String, maximumBytes: Int = 2048, made: @escaping () throws -> [[UInt8]] = { [] },
        holdsKeys: Bool = false, _ run: @escaping ([UInt8]) throws -> Bool
    ) {
        self.name = name
        self.maximumBytes = maximumBytes
        self.made = made
        self.holdsKeys = holdsKeys
        self.run = run
    }

    static let all: [Harness] = [
        HTTP1Harness.request, HTTP1Harness.response, HTTP2Harness.session, ProviderHeadersHarness.headers,
        TokenHarness.token, TokenHarness.claims, TokenHarness.encodings, PayloadHarness.payload,
        PayloadHarness.pointer, PayloadHarness.text,
        CertificateHarness.der, CertificateHarness.pem, CertificateHarness.topics, CertificateHarness.pkcs12,
        CertificateHarness.keys, ConfigurationHarness.daemon, ConfigurationHarness.app, ConfigurationHarness.team,
        CallerHarness.list, CallerHarness.pattern, DBusHarness.messages, DBusHarness.text,
        MQTT5Harness.packets, BackupHarness.archive, ProtectionHarness.record, ProtectionHarness.file,
    ]

    static func named(_ name: String) -> Harness? { all.first { $0.name == name } }
}

/// Something that has to hold and does not.
struct Violation: Error, CustomStringConvertible {
    let description: String
}

func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    guard condition else { throw Violation(description: what()) }
}

func requireEqual<Value: Equatable>(_ one: Value, _ other: Value, _ what: @autoclosure () -> String) throws {
    try require(one == other, "\(what()):\n  \(one)\n  \(other)")
}

/// The value, which is there.
func present<Value>(_ value: Value?, _ what: @autoclosure () -> String) throws -> Value {
    guard let value else { throw Violation(description: what()) }
    return value
}

/// How an input is cut into the pieces in which it arrives.
enum Cuts {
    /// More single bytes than this take too long.
    private static let maximumSingleBytes = 512

    /// Two ways for each input: pieces of one to sixteen bytes that depend on the bytes alone, and byte by byte; or cut
    /// once, if it is long.
    static func of(_ input: [UInt8]) -> [[ArraySlice<UInt8>]] {
        // FNV-1a, and a linear congruential generator.
        var state = input.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var pieces: [ArraySlice<UInt8>] = []
        var rest = input[...]
        while !rest.isEmpty {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let length = Int(state >> 60) + 1
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        let middle = input.isEmpty ? 0 : Int(truncatingIfNeeded: state >> 33) % input.count
        let other =
            input.count > maximumSingleBytes
            ? [input[..<middle], input[middle...]] : input.indices.map { input[$0...$0] }
        return [pieces, other]
    }
}
