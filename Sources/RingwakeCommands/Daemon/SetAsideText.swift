import ControlProtocol

/// The files of apps and teams that are wrong, for people.
enum SetAsideText {
    /// The wrong files that a check has `found`, as a running daemon has them: it may still use what a file said before.
    static func merged(_ found: [SetAsideMessage], _ status: StatusMessage?) -> [SetAsideMessage] {
        found.map { file in status?.setAside?.first { $0.file == file.file } ?? file }
    }

    static func lines(_ files: [SetAsideMessage]?) -> [String] {
        (files ?? []).map { file in
            let effect =
                file.usesFormer
                ? "what it said before is in force until a restart"
                : file.app != nil
                    ? "its handler is not started" : file.team != nil ? "its pushes are refused" : "ignored"
            return "\(file.app ?? file.team ?? "a file in apps.d"): \(effect): \(file.why)"
        }
    }
}
