import ArgumentParser
import ControlProtocol

/// Which part of a list a command shows.
struct ListOptions: ParsableArguments {
    @Option(help: .of("n", "At most this many of what is over; 1 to \(ControlAPI.maximumListLimit)."))
    var limit = ControlAPI.defaultListLimit

    @Option(help: .of("number", "Older ones only: the number that the list before ended with."))
    var before: Int64?

    func validate() throws {
        guard (1...ControlAPI.maximumListLimit).contains(limit) else {
            throw ValidationError("--limit is between 1 and \(ControlAPI.maximumListLimit).")
        }
        if let before, before < 1 {
            throw ValidationError("--before is 1 or more.")
        }
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
