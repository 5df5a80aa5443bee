import Glibc
import Testing

@testable import RingwakeDaemon

@Suite("The command line of ringwaked")
struct DaemonCommandTests {
    @Test("Options are read in any order and either spelling")
    func options() {
        #expect(DaemonCommand.parse([]) == .run(DaemonCommand()))
        let both = DaemonCommand(configurationFile: "a b.toml", isCheck: true)
        #expect(DaemonCommand.parse(["--config", "a b.toml", "--check-config"]) == .run(both))
        #expect(DaemonCommand.parse(["--check-config", "--config=a b.toml"]) == .run(both))
    }

    @Test("What is no option is wrong usage that names it", arguments: ["--conf", "file", "-x", ""])
    func wrongUsage(argument: String) {
        guard case .wrongUsage(let problem) = DaemonCommand.parse([argument]) else {
            Issue.record("accepted: \(argument)")
            return
        }
        #expect(problem.contains("'\(argument)'"))
    }

    @Test("JSON goes with a check, and a daemon may stop with its input")
    func more() {
        #expect(
            DaemonCommand.parse(["--check-config", "--as", "ringwake"])
                == .run(DaemonCommand(isCheck: true, user: "ringwake")))
        for wrong in [["--as", "ringwake"], ["--check-config", "--as"], ["--check-config", "--as", ""]] {
            guard case .wrongUsage = DaemonCommand.parse(wrong) else {
                Issue.record("\(wrong) was accepted")
                continue
            }
        }
        #expect(
            DaemonCommand.parse(["--json", "--check-config"]) == .run(DaemonCommand(isCheck: true, wantsJSON: true)))
        #expect(DaemonCommand.parse(["--json"]) == .wrongUsage("--json goes with --check-config"))
        #expect(DaemonCommand.parse(["--stop-at-eof"]) == .run(DaemonCommand(stopsWithInput: true)))
    }

    @Test("A missing file name is wrong usage")
    func missingFile() {
        #expect(DaemonCommand.parse(["--config"]) == .wrongUsage("--config needs a file"))
    }

    @Test("Connections leave descriptors for handlers, whatever the limit is")
    func descriptorLimit() {
        for current in [64, 256, 1024, 4096, 16_384, 1 << 20] {
            let limit = DescriptorLimit(current: current, original: .init())
            for listeners in [0, 1, 2, 50] {
                let connections = limit.connections(forEachOf: listeners)
                #expect(connections >= 1)
                #expect(connections * max(1, listeners) <= max(listeners, current - min(current / 2, 2560)))
            }
        }
        // What Documentation/gateway.md says of the unit's LimitNOFILE=.
        #expect(DescriptorLimit(current: 65_536, original: .init()).connections(forEachOf: 2) >= 30_000)
    }
}
