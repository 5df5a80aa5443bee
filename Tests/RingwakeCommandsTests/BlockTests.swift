import Glibc
import Synchronization
import Testing

@testable import RingwakeCommands

@Suite("ringwake block")
struct BlockTests {
    private static let list = #"{"schema":1,"list":"blocked","kind":"block","entries":3}"#
    private static let begun = #"{"schema":1,"id":"17","list":"spam","entries":0}"#

    /// A daemon that takes imports; `refuse` answers some of the requests otherwise.
    private func daemon(_ refuse: @escaping @Sendable (String) -> FakeDaemon.Reply? = { _ in nil }) -> FakeDaemon {
        FakeDaemon { line in
            if let refusal = refuse(line) { return refusal }
            return .json(
                line.contains("/import ") || !line.contains("finish") && line.contains("/imports/")
                    ? Self.begun : Self.list)
        }
    }

    private func body(of request: String) -> String {
        request.range(of: "\r\n\r\n").map { String(request[$0.upperBound...]) } ?? ""
    }

    @Test("add makes the list and sends the entries in their stable form")
    func adds() {
        let daemon = daemon()
        let ran = ringwake(
            ["block", "add", "+49 900/123", "*@Spam.Example", "anonymous", "--label", "a\tb"], at: daemon)
        #expect(ran.status == 0 && ran.output == "blocked: 3 entries (block)\n")
        #expect(
            daemon.requestLines == [
                "PUT /v1/lists/blocked HTTP/1.1", "POST /v1/lists/blocked/entries HTTP/1.1",
            ])
        #expect(
            daemon.requests.map(body) == [
                #"{"kind":"block"}"# + "\n",
                #"{"add":[{"label":"a b","pattern":"+49900123"},{"label":"a b","pattern":"*@spam.example"},"#
                    + #"{"label":"a b","pattern":"anonymous"}]}"# + "\n",
            ])
    }

    @Test("a list that is named keeps its kind; one to identify with has a name of its own")
    func kinds() {
        let daemon = daemon()
        _ = ringwake(["block", "add", "+491", "--list", "spam"], at: daemon)
        _ = ringwake(["block", "add", "+491", "--identify", "--label", "x"], at: daemon)
        #expect(body(of: daemon.requests[0]) == "{}\n")
        #expect(daemon.requestLines[2] == "PUT /v1/lists/known HTTP/1.1")
        #expect(body(of: daemon.requests[2]) == #"{"kind":"identify"}"# + "\n")
    }

    @Test("remove takes entries off, or the list away")
    func removes() {
        let daemon = daemon { $0.contains("GET /v1/lists ") ? Self.lists(entries: 4) : nil }
        #expect(ringwake(["block", "remove", "+49 900 123"], at: daemon).status == 0)
        #expect(body(of: daemon.requests[1]) == #"{"remove":["+49900123"]}"# + "\n")
        let ran = ringwake(["block", "remove", "--all", "--list", "spam"], at: daemon)
        #expect(ran.output == "removed the list 'blocked'\n")
        #expect(daemon.requestLines[2] == "DELETE /v1/lists/spam HTTP/1.1")
    }

    private static func lists(entries: Int) -> FakeDaemon.Reply {
        .json(#"{"schema":1,"lists":[{"schema":1,"list":"blocked","kind":"block","entries":\#(entries)}]}"#)
    }

    @Test("removing what the list does not have is an error that says so")
    func removesNothing() {
        let daemon = daemon { $0.contains("GET /v1/lists ") ? Self.lists(entries: 3) : nil }
        let one = ringwake(["block", "remove", "+49 900 123"], at: daemon)
        #expect(one.status == 5 && one.errors.contains("'+49900123' is not in the list 'blocked'"), "\(one.errors)")
        let some = ringwake(["block", "remove", "+491", "+492"], at: daemon)
        #expect(some.status == 5 && some.errors.contains("only 0 of 2"), "\(some.errors)")
    }

    @Test("list shows the lists, or page after page of one")
    func lists() {
        let daemon = FakeDaemon { line in
            if line.contains("/v1/lists ") { return .json(#"{"schema":1,"lists":[\#(Self.list)]}"#) }
            let next = line.contains("after") ? "" : #","next":"+49900*""#
            return .json(
                #"{"schema":1,"list":"spam","entries":[{"pattern":"+49900*","label":"premium \u001b"}]\#(next)}"#)
        }
        #expect(
            ringwake(["block", "list"], at: daemon).output
                == "list     kind   entries  changed  source\nblocked  block        3\n")
        #expect(
            ringwake(["block", "list", "spam"], at: daemon).output
                == "pattern  label\n+49900*  premium ?\nmore: --after '+49900*'\n")
        #expect(
            ringwake(["block", "list", "spam", "--all"], at: daemon).output
                == "pattern  label\n+49900*  premium ?\n+49900*  premium ?\n")
        #expect(
            daemon.requestLines.suffix(2) == [
                "GET /v1/lists/spam?limit=500 HTTP/1.1", "GET /v1/lists/spam?after=%2B49900%2A&limit=500 HTTP/1.1",
            ])
    }

    @Test("check says whether the caller rings, and by which entry not")
    func checks() {
        let daemon = FakeDaemon { _ in
            .json(
                #"{"schema":1,"caller":"+49900123","rings":false,"list":"spam","pattern":"+49900*","#
                    + #""identifiedAs":"premium rate","restriction":{"kind":"blocked","detail":"blocked by 'spam'"}}"#)
        }
        #expect(
            ringwake(["block", "check", "tel:+49-900-123"], at: daemon).output == """
                +49900123 is blocked
                  why    blocked by 'spam'
                  list   spam (+49900*)
                  maybe  premium rate

                """)
        #expect(daemon.requestLines == ["GET /v1/lists/check?caller=tel%3A%2B49-900-123 HTTP/1.1"])
    }

    @Test("an import sends a file in pieces below the daemon's limit, and then finishes")
    func imports() {
        let directory = TemporaryDirectory()
        let numbers = (0..<6000).map { "+4990\(1_000_000 + $0)" }
        directory.write(numbers.joined(separator: "\n") + "\nnonsense*\n", to: "spam.txt")
        let daemon = daemon()
        let ran = ringwake(["block", "import", directory.path + "/spam.txt", "--list", "spam"], at: daemon)
        #expect(ran.status == 0, "\(ran.errors)")
        #expect(ran.output.contains("spam: 3 entries from ") && ran.output.contains("skipped 1 invalid line"))
        #expect(ran.output.contains("  line 6001: "))
        let pieces = daemon.requests.filter { $0.hasPrefix("POST /v1/imports/17 ") }.map(body)
        #expect(pieces.count > 1 && pieces.allSatisfy { $0.utf8.count <= 64 * 1024 })
        #expect(pieces.joined() == numbers.joined(separator: "\n") + "\n")
        #expect(daemon.requestLines.first == "POST /v1/lists/spam/import HTTP/1.1")
        #expect(daemon.requestLines.last == "POST /v1/imports/17/finish HTTP/1.1")
        #expect(daemon.requests.last.map(body)?.contains(#"{"source":"\#(directory.path)/spam.txt"}"#) == true)
        #expect(ran.errors.isEmpty)
    }

    @Test("entries are sent by their patterns; of several with one pattern in the order of the file")
    func order() {
        let directory = TemporaryDirectory()
        directory.write(
            "number,name\n+4930,c\n*@b.example,x\n+49,first\n+4930*,p\nbob@a.example,\n+49,second\n+493,d\n", to: "l")
        let daemon = daemon()
        #expect(ringwake(["block", "import", directory.path + "/l"], at: daemon).status == 0)
        #expect(
            body(of: daemon.requests[1])
                == "*@b.example\tx\n+49\tfirst\n+49\tsecond\n+493\td\n+4930\tc\n+4930*\tp\nbob@a.example\n")
    }

    @Test("labels go with their patterns, and an address book identifies")
    func labels() {
        let directory = TemporaryDirectory()
        directory.write("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Dr. Bauer\r\nTEL:+4989123456\r\nEND:VCARD\r\n", to: "c.vcf")
        let daemon = daemon()
        #expect(ringwake(["block", "import", directory.path + "/c.vcf", "--identify"], at: daemon).status == 0)
        #expect(daemon.requestLines[0] == "POST /v1/lists/known/import HTTP/1.1")
        #expect(body(of: daemon.requests[0]) == #"{"kind":"identify"}"# + "\n")
        #expect(body(of: daemon.requests[1]) == "+4989123456\tDr. Bauer\n")
    }

    @Test(
        "a file of nonsense, or of nothing, leaves the list as it was", arguments: ["", "# nothing\n", "*\n1*2\n+1\n"])
    func nonsense(text: String) {
        let directory = TemporaryDirectory()
        directory.write(text, to: "x")
        let daemon = daemon()
        let ran = ringwake(["block", "import", directory.path + "/x", "--format", "list"], at: daemon)
        #expect(ran.status == 2 && ran.errors.contains("is unchanged"), "\(ran.errors)")
        #expect(daemon.requests.isEmpty)
    }

    @Test("an import that fails in the middle is dropped")
    func abandons() {
        let directory = TemporaryDirectory()
        directory.write("+491\n", to: "x")
        let daemon = daemon { line in
            line.contains("finish")
                ? .json(status: 500, #"{"schema":1,"error":"failed","message":"the disk is full"}"#) : nil
        }
        let ran = ringwake(["block", "import", directory.path + "/x"], at: daemon)
        #expect(ran.status == 1 && ran.errors == "ringwake: the disk is full\n")
        #expect(daemon.requestLines.last == "DELETE /v1/imports/17 HTTP/1.1")
    }

    @Test("a piece that the daemon has no room for is tried again")
    func retries() {
        let directory = TemporaryDirectory()
        directory.write("+491\n", to: "x")
        let refusals = Atomic(2)
        let daemon = FakeDaemon { line in
            guard line.contains("/imports/17 "), refusals.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 else {
                return .json(line.contains("finish") ? Self.list : Self.begun)
            }
            return .json(status: 429, #"{"schema":1,"error":"limit-reached","message":"busy"}"#)
        }
        #expect(ringwake(["block", "import", directory.path + "/x"], at: daemon).status == 0)
        #expect(daemon.requestLines.count { $0.hasPrefix("POST /v1/imports/17 ") } == 3)
    }

    @Test("a file that is not there is an error before the daemon is asked")
    func missingFile() {
        let daemon = daemon()
        let ran = ringwake(["block", "import", "/nowhere/x.csv"], at: daemon)
        #expect(ran.status == 5 && ran.errors.contains("/nowhere/x.csv"))
        #expect(daemon.requests.isEmpty)
    }
}
