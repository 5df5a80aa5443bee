import ArgumentParser
import ControlProtocol

/// Which part of a list a command shows.
struct ListOptions: ParsableArguments {
    @Option(help: .of("n", "List at most this many that have ended; 1 to \(ControlAPI.maximumListLimit)."))
    var limit = ControlAPI.defaultListLimit

    @Option(help: .of("number", "List only entries before this number, which the previous page printed at its end."))
    var before: Int64?

    func validate() throws {
        try require("--limit", limit, in: 1...ControlAPI.maximumListLimit)
        try require((before ?? 1) >= 1, "Give a --before of 1 or more.")
    }

    /// The query of a request that asks for this part.
    var query: [(name: String, value: String?)] {
        [("limit", "\(limit)"), ("before", before.map { "\($0)" })]
    }

    /// The line below a list that has another page, for people; empty if there is none.
    static func more(_ next: Int64?, style: TextStyle) -> String {
        next.map { style.dim("for older entries: --before \($0)") + "\n" } ?? ""
    }
}
