internal import Glibc

/// Files that were found damaged, and notes of data that was lost. They stay until somebody removes them.
///
/// `NUMBER-NAME` is a file as it was found, `NUMBER.why` says what happened. The numbers show the order, because a
/// clock may be wrong.
package struct DamageFolder: Sendable {
    /// The folder's name in the state directory.
    package static let name = "damaged"
    /// Maximum number of cases. The oldest are removed: more would use up the disk.
    private static let maximumCases = 8
    /// Numbers of cases are lower: a file with a higher one is not of this program.
    private static let numbers = 0..<(1 << 48)
    private static let whyEnding = ".why"
    private static let maximumWhyBytes = 4096

    private let path: String

    /// One damage.
    package struct Case: Hashable, Sendable {
        /// Shows the order.
        package let number: Int
        /// Paths of its files, with that of the note.
        package let files: [String]
        /// What happened, for a person.
        package let why: String
    }

    package init(stateDirectory: String) {
        path = stateDirectory + "/" + DamageFolder.name
    }

    /// The cases, the oldest first.
    /// - Throws: if the folder exists and can't be read.
    package func cases() throws(FileSystemError) -> [Case] {
        guard FileSystem.exists(path) else { return [] }
        var names: [Int: [String]] = [:]
        for name in try FileSystem.entries(of: path) {
            guard let number = Int(name.prefix { $0 != "-" && $0 != "." }), Self.numbers.contains(number) else {
                continue
            }
            names[number, default: []].append(name)
        }
        return names.sorted { $0.key < $1.key }.map { number, names in
            let why = try? FileSystem.read("\(path)/\(number)\(Self.whyEnding)", maximumSize: Self.maximumWhyBytes)
            return Case(
                number: number, files: names.map { "\(path)/\($0)" },
                // Without room on the disk there is no note.
                why: why.map { String(decoding: $0, as: UTF8.self) } ?? "it was damaged; nothing more is known")
        }
    }

    /// Moves files here, as they are; those that don't exist are skipped. With no file, this is a note of a loss. If it
    /// throws, all files are where they were.
    /// - Returns: their new paths.
    @discardableResult
    package func add(_ files: [String], why: String) throws(FileSystemError) -> [String] {
        try FileSystem.createDirectory(path, mode: 0o700)
        let former = try cases()
        let number = (former.last?.number ?? 0) + 1
        var moved: [(from: String, to: String)] = []
        do throws(FileSystemError) {
            for file in files where FileSystem.exists(file) {
                var target = "\(path)/\(number)-\(FileSystem.split(file).name)"
                // Files of one name from different folders.
                while FileSystem.exists(target) { target += "~" }
                moved.append((file, target))
                try FileSystem.move(file, to: target)
            }
            try note(why, of: number)
        } catch {
            for (from, to) in moved.reversed() { rename(to, from) }
            throw error
        }
        for old in former.dropLast(Self.maximumCases - 1) {
            for file in old.files { unlink(file) }
        }
        return moved.map(\.to)
    }

    private func note(_ why: String, of number: Int) throws(FileSystemError) {
        do throws(FileSystemError) {
            try FileSystem.replace(
                "\(path)/\(number)\(Self.whyEnding)", with: Array(why.utf8.prefix(Self.maximumWhyBytes)), mode: 0o600)
        } catch {
            // The files are what matters, and the log has the reason too.
            guard error.errno == ENOSPC || error.errno == EDQUOT else { throw error }
        }
    }
}
