internal import RingwakeCore
internal import Synchronization

/// What one session and the loop's thread share: what the session shows, and who is told its notices.
final class SessionSeat: Sendable {
    /// What a session shows on any thread, without waiting.
    struct Shown: Sendable {
        var state = AudioSessionState.inactive
        var configuration = AudioSessionConfiguration.standard
        var route = AudioRoute()
        var isOtherAudioPlaying = false
        var shouldBeSilenced = false
        /// Changes of the configuration that the loop has not dealt with: what was asked for last is shown until then.
        var openConfigurations = 0
        var isClosed = false
    }

    /// Names it on the way between the threads.
    let number: UInt64
    let notices = NoticeRelay()
    let shown = Mutex(Shown())

    init(number: UInt64) {
        self.number = number
    }
}
