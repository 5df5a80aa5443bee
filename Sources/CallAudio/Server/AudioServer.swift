/// One change of an audio server.
enum AudioServerCommand: Hashable, Sendable {
    /// Gives one property of a stream, a device or a card this value.
    case set(EffectTarget, EffectValue)
    /// Stores this for the next stream of its kind. Streams that exist already keep what they have.
    case store(StoredStream)
    /// Removes the stored entry of this name.
    case forget(stored: String)
}

/// Why a command was not carried out.
struct AudioServerFailure: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Hashable, Sendable {
        /// No such stream, device, card or profile.
        case notFound
        /// The server refused: busy, not supported or not permitted.
        case refused
        /// The connection broke before the answer.
        case lost
    }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }
}

/// What happens to the connection to an audio server.
enum AudioServerEvent: Hashable, Sendable {
    /// Connected, and the mirror is complete.
    case connected(AudioServerImage)
    /// Something changed, by others or by our commands. Sent at most once for all changes of one turn.
    case changed(AudioServerImage)
    /// No server, or it refuses us. The connection is made as soon as it appears; nothing polls.
    case unavailable(String)
    /// The connection broke. It is made again as soon as the server is back.
    case lost(String)
}

/// A connection to the audio server of one user, with a mirror of it.
///
/// Events and completions come from the loop, never from within a call of these functions.
protocol AudioServer: AnyObject {
    /// The mirror; nil without a connection.
    var image: AudioServerImage? { get }
    var onEvent: ((AudioServerEvent) -> Void)? { get set }

    /// Connects, and reconnects after every loss until ``close()``.
    func connect()
    /// Sends all commands at once. The completion runs after the last acknowledgement, with a failure for each command
    /// (nil: done); `image` then shows the results. After a loss every open command has failed with `lost`.
    func perform(_ commands: [AudioServerCommand], completion: @escaping ([AudioServerFailure?]) -> Void)
    /// The last answer of ``storedStreams(completion:)``, as long as nothing has been stored since and `image` shows all
    /// streams that the server has reported; nil: ask.
    var knownStored: [StoredStream]? { get }
    /// Reads the stored values that the server lists for each kind of streams; empty if it has no such store. `image`
    /// then shows all streams, including those that began with a stored value.
    func storedStreams(completion: @escaping (Result<[StoredStream], AudioServerFailure>) -> Void)
    /// Ends the connection. No event or completion comes after this.
    func close()
}
