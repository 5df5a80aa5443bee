import Testing

@testable import RingwakeAudioAgent

struct AgentCommandTests {
    private static func command(_ arguments: [String]) -> AgentCommand? {
        if case .run(let command) = AgentCommand.parse(arguments) { command } else { nil }
    }

    @Test("without options it is the socket on standard input, with the standard journal")
    func standard() {
        #expect(Self.command([]) == AgentCommand(source: .descriptor(0), journal: nil, isVerbose: false))
    }

    @Test("each option can be given in both ways")
    func options() {
        #expect(Self.command(["--fd", "7"])?.source == .descriptor(7))
        #expect(Self.command(["--fd=7"])?.source == .descriptor(7))
        #expect(Self.command(["--listen"])?.source == .listener)
        #expect(Self.command(["--listen", "--allow", "a", "--allow=7"])?.allowed == ["a", "7"])
        #expect(Self.command(["--mend"])?.source == .journals)
        #expect(Self.command(["--journal", "/a"])?.journal == "/a")
        #expect(Self.command(["--journal=/a=b"])?.journal == "/a=b")
        #expect(Self.command(["--verbose", "--mend", "--journal=x"])?.isVerbose == true)
    }

    @Test(
        "wrong usage is named",
        arguments: [
            (["--fd"], "--fd needs a value"), (["--fd="], "--fd needs the number"), (["--fd", "1x"], "'1x'"),
            (["--fd=-1"], "'-1'"), (["--fd=+1"], "'+1'"), (["--fd=99999999999"], "'99999999999'"),
            (["--journal"], "--journal needs a value"), (["--journal="], "--journal needs a file"),
            (["--allow=", "--listen"], "--allow needs a user"), (["--allow", "root"], "goes with --listen"),
            (["--fd", "1", "--listen"], "only one of"), (["--mend", "--mend"], "only one of"),
            (["--lsten"], "'--lsten' is not an option"), (["file"], "'file' is not an option"),
        ])
    func wrongUsage(arguments: [String], problem: String) {
        guard case .wrongUsage(let text) = AgentCommand.parse(arguments) else {
            Issue.record("\(arguments) were taken")
            return
        }
        #expect(text.contains(problem))
    }

    @Test("help and version go before everything that comes after them")
    func shown() {
        #expect(AgentCommand.parse(["--help", "--nonsense"]) == .show(AgentCommand.help))
        #expect(AgentCommand.parse(["-h"]) == .show(AgentCommand.help))
        if case .show(let text) = AgentCommand.parse(["--version"]) {
            #expect(text.hasSuffix("\n"))
        } else {
            Issue.record("no version")
        }
    }
}
