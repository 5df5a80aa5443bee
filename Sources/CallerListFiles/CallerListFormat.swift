/// The format of a file of callers.
package enum CallerListFormat: String, Sendable, CaseIterable {
    /// Detected from the first line that is not blank or a comment.
    case auto
    /// vCard 2.1, 3.0 and 4.0 (RFC 6350): address books.
    case vCard = "vcard"
    /// Comma-separated values (RFC 4180), or values separated by semicolons or tabs: spreadsheets.
    case csv
    /// One pattern per line; `#` begins a comment.
    case list
}

/// The errors in a file of callers. All bad lines are counted, and the first ones are kept.
package struct CallerListProblems: Sendable, Equatable {
    package struct Problem: Sendable, Equatable {
        /// The line number in the file, from 1.
        package let line: Int
        /// The error for a person.
        package let text: String
    }

    /// The number of bad lines.
    package private(set) var count = 0
    /// The first bad lines.
    package private(set) var first: [Problem] = []
    /// The maximum number of bad lines that are kept.
    package static let kept = 10

    mutating func add(line: Int, _ text: String) {
        count += 1
        if first.count < CallerListProblems.kept { first.append(Problem(line: line, text: text)) }
    }
}
