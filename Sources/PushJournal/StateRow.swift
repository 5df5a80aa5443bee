internal import RingwakeCore

/// A piece of state that outlives the process, as the journal has it: whose it is says its path.
package nonisolated struct StateRow: Hashable, Sendable {
    /// What it is of, from the general to the particular: `app/com.example.phone/strikes`.
    package let path: String
    /// The version of what `data` means; its writer's own.
    package let version: Int
    package let data: [UInt8]
    /// Whether it was written since the machine was started: instants in it then mean what they say.
    package let isOfThisBoot: Bool
    /// How long ago it was written; nil when that cannot be known: it is of another boot, and nobody vouches for the
    /// wall clock.
    package let age: Duration?

    package init(path: String, version: Int, data: [UInt8], isOfThisBoot: Bool, age: Duration?) {
        self.path = path
        self.version = version
        self.data = data
        self.isOfThisBoot = isOfThisBoot
        self.age = age
    }
}

/// A row that is to be written or removed, and how new that is: a higher revision is newer.
nonisolated struct RevisedState: Sendable {
    let path: String
    let version: Int
    /// Nil removes the row.
    let data: [UInt8]?
    /// When it was submitted.
    let at: BootInstant
    let revision: UInt64

    /// Bytes of data.
    var bytes: Int { data?.count ?? 0 }
}

/// The paths of rows.
nonisolated enum StatePath {
    /// The longest path, in bytes of UTF-8. A call's id may have 256 characters.
    static let maximumBytes = 2_048
    /// What the paths of rows begin with that were set aside.
    static let aside = "aside/"
    /// The lowest text above all that begin with `aside`.
    static let aboveAside = "aside0"

    /// What names a call's own row where it is set aside.
    static func call(_ number: Int64) -> String { "call/\(number)" }

    /// The number of the call whose row this names; nil for a row of state.
    static func numberOfCall(_ path: String) -> Int64? {
        path.hasPrefix("call/") ? Int64(path.dropFirst("call/".count)) : nil
    }

    /// Whether a row may be written there.
    static func isUsable(_ path: String) -> Bool {
        !path.isEmpty && path.utf8.count <= maximumBytes && !path.hasPrefix(aside)
    }
}
