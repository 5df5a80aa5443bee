import ControlProtocol

/// What an app stores with the daemon, for people.
enum SavedStateText {
    static func lines(of saved: SavedStateMessage) -> [String] {
        var text = saved.bytes > 0 ? "\(saved.bytes) bytes" : "none"
        if saved.crashes > 0 { text += "; its handler crashed while restoring it" }
        guard let at = saved.droppedAt else { return [text] }
        let why: String? =
            switch saved.droppedBy {
            case "reset": "the app was reset"
            case "crashed": "its handler crashed twice while restoring it"
            default: saved.droppedBy
            }
        return [text, "dropped at \(at): \(why ?? "")"]
    }
}
