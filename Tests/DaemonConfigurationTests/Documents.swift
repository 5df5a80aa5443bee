import FoundationEssentials

/// A file of the repository, by its path below the root.
nonisolated func document(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    return String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
}
