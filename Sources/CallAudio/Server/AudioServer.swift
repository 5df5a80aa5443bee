/// One change of an audio server.
package enum AudioServerCommand: Hashable, Sendable, Codable {
    case setPlayingVolume(stream: UInt32, [UInt32])
    case mutePlaying(stream: UInt32, Bool)
    case muteRecording(stream: UInt32, Bool)
    /// To the sink or source of this name.
    case movePlaying(stream: UInt32, to: String)
    case moveRecording(stream: UInt32, to: String)
    case setProfile(card: String, String)
    case setSinkPort(sink: String, String)
    case setSourcePort(source: String, String)
    case muteSource(source: String, Bool)
    case setDefaultSink(String)
    case setDefaultSource(String)
    /// Stores this for the next stream of its kind, and gives it to none that is there.
    case store(StoredStream)
    /// Forgets what is stored under this name.
    case forget(stored: String)
}

/// Why a command was not done.
package struct AudioServerFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// No such stream, device, card, profile.
        case notFound
        /// The server refused it: it is busy, not supported, not permitted.
        case refused
        /// The connection broke before the answer.
        case lost
    }

    package let kind: Kind
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}

/// What happens to the connection to an audio server.
package enum AudioServerEvent: Hashable, Sendable {
    /// It is connected, and mirrored whole.
    case connected(AudioServerImage)
    /// Something changed that others did, or what was asked brought about: at most once for what comes in one turn.
    case changed(AudioServerImage)
    /// There is none, or it refuses us. It is connected to as soon as it comes; nothing polls for it.
    case unavailable(String)
    /// The connection broke. It is connected to anew as soon as the server is back.
    case lost(String)
}

/// A connection to the audio server of one user, with a mirror of it.
///
/// What it tells comes from the loop, never from within a call of these functions.
package protocol AudioServer: AnyObject {
    /// The mirror; nil while there is no connection.
    var image: AudioServerImage? { get }
    var onEvent: ((AudioServerEvent) -> Void)? { get set }

    /// Connects, and stays connected until ``close()``: comes again by itself after a loss.
    func connect()
    /// Sends all at once, and tells when the server has acknowledged the last one: for each command its failure, nil
    /// where it was done. `image` shows then what they brought about. After a loss every open one has failed with `lost`.
    func perform(_ commands: [AudioServerCommand], completion: @escaping ([AudioServerFailure?]) -> Void)
    /// What the server stores for streams of each kind; those only that it lists. Empty where it has no such store. `image`
    /// shows then all streams as they are, those among them that began with what is stored.
    func storedStreams(completion: @escaping (Result<[StoredStream], AudioServerFailure>) -> Void)
    /// Ends the connection. Nothing is told after this.
    func close()
}
