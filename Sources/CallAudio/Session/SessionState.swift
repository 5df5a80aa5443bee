internal import RingwakeCore
internal import RunLoop
internal import Synchronization

/// Shared by one session and the loop's thread: the session's properties, and the observers of its notices.
final class SessionState: Sendable {
    /// The properties of a session, readable on any thread, without waiting.
    struct Shown: Sendable {
        var state = AudioSessionState.inactive
        var configuration = AudioSessionConfiguration.standard
        var route = AudioRoute()
        var isInputAvailable = true
        var isOtherAudioPlaying = false
        var shouldBeSilenced = false
        /// Changes of the configuration that the loop has not handled. Until then the last requested one is shown.
        var openConfigurations = 0
    }

    /// Notices that a stream holds while nobody reads it; of more the oldest are dropped.
    static let streamCapacity = 256

    let observers = Observers<AudioSessionNotice>()
    let shown = Mutex(Shown())

    /// The notices from now on. The stream ends with the session, and doesn't keep it alive.
    func notices() -> AsyncStream<AudioSessionNotice> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AudioSessionNotice.self, bufferingPolicy: .bufferingNewest(Self.streamCapacity))
        let observer = Observers<AudioSessionNotice>.Observer {
            continuation.yield($0)
        } finish: {
            continuation.finish()
        }
        guard let number = observers.add(observer) else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak observers] _ in observers?.remove(number) }
        return stream
    }
}
