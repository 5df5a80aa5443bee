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

/// What a watched player does.
enum MediaPlayerChange: Hashable, Sendable {
    /// It is paused now.
    case paused
    /// It plays again, after it was paused.
    case playing
    /// It has left the bus.
    case gone
}

/// What players answered that were to be resumed. Those in none of the lists are gone, or somebody else's by now.
struct MediaPlayerAnswers: Hashable, Sendable {
    var resumed: [MediaPlayer] = []
    /// They play: they were never paused, or somebody has started them.
    var playing: [MediaPlayer] = []
    /// They did not answer in time.
    var silent: [MediaPlayer] = []
}

/// The media players of one user. Completions and ``onChange`` come from the loop, and never after ``close()``.
protocol MediaPlayers: AnyObject {
    /// Finds the players that play, within a bounded time whatever players and bus do; none without a bus.
    func playing(completion: @escaping ([MediaPlayer]) -> Void)
    /// Orders those to pause that still play and have the same owner. Returns those that were sent the command and did
    /// not refuse it within a bounded time: they may be paused, or become so at any later time.
    func pause(_ players: [MediaPlayer], completion: @escaping ([MediaPlayer]) -> Void)
    /// Reports by ``onChange`` what these players do. Replaces the former list.
    /// - Parameter paused: those of them that were seen paused.
    func watch(_ players: [MediaPlayer], paused: Set<MediaPlayer>)
    var onChange: ((MediaPlayer, MediaPlayerChange) -> Void)? { get set }
    /// Resumes those that have the same owner and track, and are still paused.
    func resume(_ players: [MediaPlayer], completion: @escaping (MediaPlayerAnswers) -> Void)
    func close()
}
