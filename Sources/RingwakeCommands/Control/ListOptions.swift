import ArgumentParser
import ControlProtocol

/// Which part of a list a command shows.
struct ListOptions: ParsableArguments {
    @Option(help: .of("n", "At most this many ended ones; 1 to \(ControlAPI.maximumListLimit)."))
    var limit = ControlAPI.defaultListLimit

    @Option(help: .of("number", "Only entries before this number, which the previous page ended with."))
    var before: Int64?

    func validate() throws {
        try require("--limit", limit, in: 1...ControlAPI.maximumListLimit)
        try require((before ?? 1) >= 1, "--before is 1 or more.")
    }

    /// The query of a request that asks for this part.
    var query: [(name: String, value: String?)] {
        [("limit", "\(limit)"), ("before", before.map { "\($0)" })]
    }

    /// What stands below a list that goes on, for people; empty when it does not.
    static func more(_ next: Int64?, style: TextStyle) -> String {
        next.map { style.dim("older ones: --before \($0)") + "\n" } ?? ""
    }
}
