internal import Glibc

/// The usual places of the effect journals of one user (see ``JournalRegistry`` for others).
///
/// `ringwake-audio` has one, which its daemon names. Every program that uses the library takes the first numbered one
/// that no other program holds. A killed program releases its number, so the next program finds what has to be undone;
/// and so does `ringwake-audio --mend`.
package enum EffectJournals {
    /// Maximum number of programs of one user that use the library at a time.
    package static let maximumPrograms = 16

    /// Their folder: `$XDG_STATE_HOME/ringwake`; nil where the environment names no home.
    package static func folder(_ environment: [String: String]) -> String? {
        // The specification: a relative path is invalid and must be ignored.
        func absolute(_ name: String) -> String? {
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (absolute("XDG_STATE_HOME") ?? absolute("HOME").map { $0 + "/.local/state" }).map { $0 + "/ringwake" }
    }

    /// The journal of `ringwake-audio`.
    package static func standard(_ environment: [String: String]) -> String? {
        folder(environment).map { $0 + "/audio-effects.json" }
    }

    /// The journals of programs that use the library.
    package static func numbered(_ environment: [String: String]) -> [String] {
        guard let folder = folder(environment) else { return [] }
        return (1...maximumPrograms).map { "\(folder)/audio-effects.\($0).json" }
    }

    /// All of them, existing or not.
    package static func all(_ environment: [String: String]) -> [String] {
        (standard(environment).map { [$0] } ?? []) + numbered(environment)
    }

    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The same path for the same file: absolute, with the real path of its folder. Unchanged if the folder doesn't
    /// exist.
    static func place(of path: String) -> String {
        let slash = path.lastIndex(of: "/")
        let folder = folder(of: path)
        guard let real = realpath(folder, nil) else { return path }
        defer { free(real) }
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let resolved = String(cString: real)
        return resolved == "/" ? "/\(name)" : "\(resolved)/\(name)"
    }
}
