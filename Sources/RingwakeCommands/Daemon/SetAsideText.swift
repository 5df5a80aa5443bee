import ControlProtocol

/// The files of apps and teams that are wrong, for people.
enum SetAsideText {
    static func lines(_ files: [SetAsideMessage]?) -> [String] {
        (files ?? []).map { file in
            let effect =
                file.usesFormer
                ? "what it said before is in force"
                : file.app != nil
                    ? "its handler is not started" : file.team != nil ? "its pushes are refused" : "ignored"
            return "\(file.app ?? file.team ?? "a file in apps.d"): \(effect): \(file.why)"
        }
    }
}
