/// A player on the session bus (MPRIS D-Bus Interface Specification 2.2) that plays.
package struct MediaPlayer: Hashable, Sendable, Codable {
    /// Such as `org.mpris.MediaPlayer2.mpv`.
    package var name: String
    /// The connection that owned the name then, and its bus: another owner is another player. Opaque; it is compared.
    package var owner: String
    package var process: Int32?
    /// `mpris:trackid` of what it played; nil where it says none.
    package var track: String?

    package init(name: String, owner: String, process: Int32?, track: String?) {
        self.name = name
        self.owner = owner
        self.process = process
        self.track = track
    }
}

/// The media players of one user.
package protocol MediaPlayers: AnyObject {
    /// Those that play. Answers within a bounded time, whatever players and bus do; without a bus there are none.
    func playing(completion: @escaping ([MediaPlayer]) -> Void)
    /// Pauses them, and tells which were told to: these were still playing and had the same owner. One that has not said in
    /// time that it is paused comes without its process, for it may sound on; it may be paused a moment later.
    func pause(_ players: [MediaPlayer], completion: @escaping ([MediaPlayer]) -> Void)
    /// Tells by ``onPlaying`` when one of these plays again that was paused; they take the place of those before.
    func watch(_ players: [MediaPlayer])
    /// It is not told from within a call of these functions, and not after ``close()``.
    var onPlaying: ((MediaPlayer) -> Void)? { get set }
    /// Has those play on that have the same owner and are still paused; tells how many did.
    func resume(_ players: [MediaPlayer], completion: @escaping (Int) -> Void)
    func close()
}
