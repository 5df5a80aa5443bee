/// A playing media player on the session bus (MPRIS D-Bus Interface Specification 2.2).
struct MediaPlayer: Hashable, Sendable, Codable {
    /// Such as `org.mpris.MediaPlayer2.mpv`.
    var name: String
    /// The connection that owned the name, and its bus: another owner is another player. Opaque; only compared.
    var owner: String
    var process: Int32?
    /// `mpris:trackid` of what it played; nil where it names none.
    var track: String?
}

/// The media players of one user. Completions and ``onPlaying`` come from the loop, and never after ``close()``.
protocol MediaPlayers: AnyObject {
    /// Finds the players that play, within a bounded time whatever players and bus do; none without a bus.
    func playing(completion: @escaping ([MediaPlayer]) -> Void)
    /// Pauses those that still play and have the same owner, and returns those that got the command. One that has not
    /// confirmed in time is returned without its process: it may still play, and pause a moment later.
    func pause(_ players: [MediaPlayer], completion: @escaping ([MediaPlayer]) -> Void)
    /// Reports by ``onPlaying`` when one of these paused players plays again. Replaces the former list.
    func watch(_ players: [MediaPlayer])
    var onPlaying: ((MediaPlayer) -> Void)? { get set }
    /// Resumes those that have the same owner and are still paused; returns their number.
    func resume(_ players: [MediaPlayer], completion: @escaping (Int) -> Void)
    func close()
}
