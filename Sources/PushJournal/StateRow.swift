internal import RingwakeCore

/// A row of state from the journal. It outlives the process.
package nonisolated struct StateRow: Hashable, Sendable {
    /// The path, from the general to the specific: `app/com.example.phone/strikes`.
    package let path: String
    /// The version of the format of `data`, defined by its writer.
    package let version: Int
    package let data: [UInt8]
    /// Whether it was written in this boot: only then instants in it are valid.
    package let isOfThisBoot: Bool
    /// The age of the row; nil if unknown, because it is from another boot and the wall clock is unreliable.
    package let age: Duration?

    package init(path: String, version: Int, data: [UInt8], isOfThisBoot: Bool, age: Duration?) {
        self.path = path
        self.version = version
        self.data = data
        self.isOfThisBoot = isOfThisBoot
        self.age = age
    }
}

/// A row to write or remove, with its revision: a higher one is newer.
nonisolated struct RevisedState: Sendable {
    let path: String
    let version: Int
    /// Nil removes the row.
    let data: [UInt8]?
    /// When it was submitted.
    let at: BootInstant
    let revision: UInt64

    /// The size of the data in bytes.
    var bytes: Int { data?.count ?? 0 }
}

/// The paths of rows.
nonisolated enum StatePath {
    /// The maximum length of a path in bytes of UTF-8. A call's id may have 256 characters.
    static let maximumBytes = 2_048
    /// The prefix of the paths of rows that were set aside.
    static let aside = "aside/"
    /// The lowest text above all with the prefix `aside`.
    static let aboveAside = "aside0"

    /// The path of a call's row when it is set aside.
    static func call(_ number: Int64) -> String { "call/\(number)" }

    /// The number of the call with this path; nil for a row of state.
    static func numberOfCall(_ path: String) -> Int64? {
        path.hasPrefix("call/") ? Int64(path.dropFirst("call/".count)) : nil
    }

    /// The path with the app as it is called now: `app/ID/...`.
    static func renamed(_ path: String, _ apps: [AppID: AppID]) -> String {
        let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "app", let new = AppID(String(parts[1])).flatMap({ apps[$0] }) else {
            return path
        }
        return "app/\(new.rawValue)/\(parts[2])"
    }

    /// Whether a row may have this path.
    static func isUsable(_ path: String) -> Bool {
        !path.isEmpty && path.utf8.count <= maximumBytes && !path.hasPrefix(aside)
    }
}
