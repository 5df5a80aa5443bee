/// How a file of callers is written.
package enum CallerListFormat: String, Sendable, CaseIterable {
    /// Found out by the first line that says something.
    case auto
    /// vCard 2.1, 3.0 and 4.0 (RFC 6350): address books.
    case vCard = "vcard"
    /// Comma-separated values (RFC 4180), also with semicolons or tabs between them: spreadsheets.
    case csv
    /// One pattern a line; `#` begins a comment.
    case list
}

/// What was wrong in a file of callers: every bad line is counted, the first ones are kept.
package struct CallerListProblems: Sendable, Equatable {
    package struct Problem: Sendable, Equatable {
        /// The line of the file, from 1.
        package let line: Int
        /// What is wrong with it, for a person.
        package let text: String
    }

    /// How many lines could not be used.
    package private(set) var count = 0
    /// The first of them.
    package private(set) var first: [Problem] = []
    /// How many are kept.
    package static let kept = 10

    mutating func add(line: Int, _ text: String) {
        count += 1
        if first.count < CallerListProblems.kept { first.append(Problem(line: line, text: text)) }
    }
}
