import ControlProtocol
import Cryptography
import Testing

@testable import RingwakeCommands

@Suite("ringwake protection")
struct ProtectionTests {
    private static let unlocked =
        #"{"classes":[{"available":true,"generation":3,"kinds":["payloads","callers"],"name":"complete","#
        + #""rekeying":{"done":1,"total":4}}],"lock":"session","protectedDataAvailable":true,"schema":1,"#
        + #""session":"unlocked","source":"tpm","state":"unlocked"}"#
    private static let locked =
        #"{"classes":[],"lock":"command","passphrase":{"n":16384,"p":1,"r":1,"salt":"c2FsdCBvZiBhIHRlc3QhIQ"},"#
        + #""protectedDataAvailable":false,"schema":1,"source":"passphrase","state":"locked","why":"type it"}"#

    /// The key that scrypt makes of "correct horse" with that salt and cost.
    private func key() throws -> String {
        var bytes = Array("correct horse".utf8)
        let cost = try #require(ScryptParameters(n: 16384, r: 1, p: 1))
        return Base64URL.encode(
            try Passphrase(wiping: &bytes).key(salt: Array("salt of a test!!".utf8), cost, count: 32))
    }

    private func body(_ daemon: FakeDaemon) -> String {
        daemon.requests.last.flatMap { request in
            request.range(of: "\r\n\r\n").map { String(request[$0.upperBound...]) }
        } ?? ""
    }

    @Test("The status shows what opens and what locks, and each class")
    func status() {
        let daemon = FakeDaemon { _ in .json(Self.unlocked) }
        let ran = ringwake(["protection", "status"], at: daemon)
        #expect(ran.status == 0)
        #expect(
            ran.output == """
                protection  unlocked
                  keys       opened by the TPM
                  locked by  the lock of the screen, which is unlocked

                class     can be read  key  kinds
                complete  yes            3  payloads callers  encrypted again: 1 of 4

                """)
        #expect(ringwake(["protection", "status", "--json"], at: daemon).output.contains(#""state" : "unlocked""#))
    }

    @Test("The daemon gets the key, and never the passphrase")
    func unlock() throws {
        let daemon = FakeDaemon { $0.hasPrefix("GET") ? .json(Self.locked) : .json(Self.unlocked) }
        daemon.directory.write("correct horse\n", to: "passphrase")
        let ran = ringwake(
            ["protection", "unlock", "--passphrase-file", daemon.directory.path + "/passphrase"], at: daemon)
        #expect(ran.status == 0 && ran.output.hasPrefix("protection  unlocked\n"))
        #expect(daemon.requestLines.last == "POST /v1/protection/unlock HTTP/1.1")
        #expect(body(daemon) == #"{"key":"\#(try key())"}"# + "\n")
        #expect(!daemon.requests.contains { $0.contains("horse") })
    }

    @Test("Without a terminal, a file and the environment there is no passphrase; the environment has one")
    func environment() throws {
        let daemon = FakeDaemon { $0.hasPrefix("GET") ? .json(Self.locked) : .json(Self.unlocked) }
        let refused = ringwake(["protection", "unlock"], at: daemon)
        #expect(refused.status == 2 && refused.errors.contains("--passphrase-file"))
        let ran = ringwake(
            ["protection", "unlock"], at: daemon, environment: ["RINGWAKE_PASSWORD": "correct horse"])
        let sent = try key()
        #expect(ran.status == 0 && body(daemon).contains(sent))
    }

    @Test("Where no passphrase opens the keys none is sent")
    func withoutPassphrase() {
        let daemon = FakeDaemon { _ in .json(Self.unlocked) }
        #expect(ringwake(["protection", "unlock"], at: daemon).status == 0 && body(daemon).isEmpty)
        let refused = ringwake(["protection", "unlock", "--passphrase-file", "/dev/null"], at: daemon)
        #expect(refused.status == 1 && refused.errors.contains("no passphrase opens the keys (source: tpm)"))
    }

    @Test("A new passphrase has a new salt each time, and the standard cost")
    func newPassphrase() throws {
        let daemon = FakeDaemon { _ in .json(Self.unlocked) }
        var salts: Set<Substring> = []
        for _ in 0..<2 {
            let ran = ringwake(
                ["protection", "passphrase"], at: daemon, environment: ["RINGWAKE_PASSWORD": "correct horse"])
            #expect(ran.status == 0 && body(daemon).contains(#""n":131072,"p":1,"r":8"#))
            salts.formUnion(body(daemon).matches(of: /"salt":"([^"]*)"/).map(\.1))
        }
        #expect(salts.count == 2 && daemon.requestLines.last == "POST /v1/protection/passphrase HTTP/1.1")
    }

    @Test("Deletion needs --yes where nobody can be asked")
    func delete() {
        let daemon = FakeDaemon { _ in .json(Self.unlocked) }
        let refused = ringwake(["protection", "delete", "complete"], at: daemon)
        #expect(refused.status == 2 && refused.errors.contains("--yes") && daemon.requests.isEmpty)
        #expect(ringwake(["protection", "delete", "complete", "--yes"], at: daemon).status == 0)
        #expect(body(daemon) == #"{"class":"complete"}"# + "\n")
        #expect(ringwake(["protection", "delete"], at: daemon).status == 2)
    }

    @Test("Lock and rekey say what is meant")
    func verbs() {
        let daemon = FakeDaemon { _ in .json(Self.unlocked) }
        _ = ringwake(["protection", "lock"], at: daemon)
        _ = ringwake(["protection", "rekey"], at: daemon)
        #expect(
            daemon.requestLines.map { $0.split(separator: " ")[1] } == ["/v1/protection/lock", "/v1/protection/rekey"])
        #expect(body(daemon) == "{}\n")
    }

    @Test("The doctor says what is off, locked, open to others or broken")
    func doctor() {
        func findings(_ protection: StatusMessage.Protection?, _ change: (inout DoctorFacts) -> Void = { _ in })
            -> [String]
        {
            var facts = DoctorFacts(now: 0, userID: 0, file: "/c.toml")
            facts.status = StatusMessage(
                version: "", pid: 1, uptimeMs: 0, configuration: "", appsDirectory: "", stateDirectory: "",
                controlSocket: "", listeners: [], serverCertificate: nil, apps: 0, activeCalls: 0,
                pushes: .init(accepted: 0, refused: [:]),
                journal: .init(file: "", state: "working", pushes: 0, calls: 0, bytes: 0),
                reachability: ReachabilityMessage(failed: "", wantedFilterLevel: 0), path: nil, connection: nil,
                strikes: [:], wakeups: .init(total: 0, byCause: [:]))
            facts.status?.protection = protection
            change(&facts)
            return ProtectionCheck.findings(facts).map { "\($0.state) \($0.message)" }
        }
        #expect(findings(nil) == [])
        #expect(
            findings(.init(state: "off", why: "no key", protectedDataAvailable: true))
                == ["note stored data is not encrypted: no key"])
        #expect(
            findings(.init(state: "locked", why: "w", unusable: true, protectedDataAvailable: false))
                == ["warning the keys of protected data cannot be used: w"])
        let locked = findings(.init(state: "locked", protectedDataAvailable: false)) {
            $0.protection = ProtectionMessage(
                state: "locked", protectedDataAvailable: false, lock: "command", lockedMs: 120_000)
        }
        #expect(locked == ["note stored data is encrypted, and has been locked for 2 min; calls ring all the same"])
        let open = findings(.init(state: "unlocked", protectedDataAvailable: true)) {
            $0.protection = ProtectionMessage(
                state: "unlocked", source: "keyFile", keyFile: "/k", protectedDataAvailable: true, lock: "command")
            $0.isKeyFileOpen = true
        }
        #expect(
            open == [
                "ok stored data is encrypted, and unlocked",
                "warning other users may read /k, and with it everything that it protects",
            ])
    }
}
