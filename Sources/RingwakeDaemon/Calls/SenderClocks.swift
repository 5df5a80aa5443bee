internal import Logging
internal import RingwakeCore

/// The wall clocks of the senders, compared with this device's when a payload states the time.
///
/// A wrong clock costs no call, because the age of a call counts. It makes `apns-expiration` and provider tokens
/// fail, so a person should know.
struct SenderClocks {
    /// A clock that is off by more is reported. Payloads may state whole seconds, and pushes take some time.
    static let tolerance = Duration.seconds(10)

    /// By team: how far its clock is behind; negative if it is ahead. From the newest push that stated the time.
    private(set) var behind: [String: Duration] = [:]

    /// The clocks that are off.
    var wrong: [String: Duration] { behind.filter { SenderClocks.isWrong($0.value) } }

    /// Records a measurement, and logs it when the clock has become wrong or right.
    mutating func note(_ sender: String, behind measured: Duration, _ logger: Logger) {
        let wasWrong = behind.updateValue(measured, forKey: sender).map(SenderClocks.isWrong) ?? false
        guard wasWrong != SenderClocks.isWrong(measured) else { return }
        let metadata: Logger.Metadata = ["team": "\(sender)", "behind-ms": "\(measured.milliseconds)"]
        if wasWrong {
            logger.notice("the clocks of sender and device agree again", metadata: metadata)
        } else {
            logger.warning("the clocks of sender and device differ", metadata: metadata)
        }
    }

    /// Forgets the teams that may not send any more.
    mutating func keep(_ teams: Set<String>) { behind = behind.filter { teams.contains($0.key) } }

    private static func isWrong(_ behind: Duration) -> Bool { behind > tolerance || behind < .zero - tolerance }
}
