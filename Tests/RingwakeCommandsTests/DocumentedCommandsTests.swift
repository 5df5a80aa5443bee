import FoundationEssentials
import Testing

@testable import RingwakeCommands

@Suite("ringwake(1) knows each command, option and value that the command line takes")
struct DocumentedCommandsTests {
    private struct Tool: Decodable { let command: Command }

    private struct Command: Decodable {
        let commandName: String
        let subcommands: [Command]?
        let arguments: [Argument]?
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let names: [Name]?
        let allValues: [String]?
    }

    /// Macros of mdoc that stand before what they mark.
    private static let macros: Set<String> = [".It", "Cm", ".Cm", "Oo", "Oc", "Op", "Fl", "Ar", ","]

    private static func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return String(decoding: try Data(contentsOf: root.appending(path: "deploy/man/ringwake.1")), as: UTF8.self)
    }

    @Test("Nothing is missing")
    func page() throws {
        let page = try Self.page()
        let items = page.split(separator: "\n").filter { $0.hasPrefix(".It Cm") }.map { line in
            " "
                + line.split(separator: " ").map(String.init).filter { !Self.macros.contains($0) }.joined(
                    separator: " ")
                + " "
        }
        let words = Set(page.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init))
        let dump = ringwake(["--experimental-dump-help"]).output
        let tool = try JSONDecoder().decode(Tool.self, from: Data(dump.utf8))
        func check(_ command: Command, _ path: [String]) {
            for argument in command.arguments ?? [] {
                for name in argument.names ?? []
                where name.kind == "long" && name.name != "help" && name.name != "version" {
                    let isThere = page.contains("Fl Fl \(name.name)\n") || page.contains("Fl Fl \(name.name) ")
                    #expect(isThere, "deploy/man/ringwake.1: --\(name.name) of '\(path.joined(separator: " "))'")
                }
                for value in argument.allValues ?? [] where value != "auto" {
                    #expect(
                        words.contains(value), "deploy/man/ringwake.1: '\(value)' of '\(path.joined(separator: " "))'")
                }
            }
            let subcommands = (command.subcommands ?? []).filter { $0.commandName != "help" }
            if subcommands.isEmpty {
                let name = " \(path.joined(separator: " ")) "
                #expect(items.contains { $0.contains(name) }, "deploy/man/ringwake.1: '\(path.joined(separator: " "))'")
            }
            for subcommand in subcommands { check(subcommand, path + [subcommand.commandName]) }
        }
        check(tool.command, [])
    }
}
