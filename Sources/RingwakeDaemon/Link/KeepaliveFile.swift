internal import DeviceLink
internal import Logging
internal import PushGateway
internal import RingwakeCore

/// What a gateway has learned of the networks of its devices: `keepalive.json` in the state directory. Without it all is
/// learned again.
struct KeepaliveFile {
    nonisolated private struct Contents: StateContents {
        var schema = 1
        var check: String?
        /// In ms since 1970.
        var savedAt: Int64
        var table: KeepaliveSnapshot
        /// Nil in files of former versions.
        var devices: [String]?
    }

    private let file: StateFile<Contents>
    private let logger: Logger

    /// More than both tables take.
    private static let maximumBytes = 6 << 20

    init(directory: String, logger: Logger) {
        file = StateFile(
            name: "keepalive.json", directory: directory, maximumSize: Self.maximumBytes, loss: "all is learned again")
        self.logger = logger
    }

    /// What the last run learned; nothing if there was none.
    func read(_ bounds: KeepaliveBounds, at now: BootInstant) -> LinkKeepAlive {
        do throws(RingwakeError) {
            switch try file.read({ (contents) throws(RingwakeError) in contents }) {
            case .absent: break
            case .lost(let damage): logger.warning("keep-alives are learned again", metadata: ["why": "\(damage)"])
            case .found(let contents, _):
                let elapsed = Duration.milliseconds(max(0, unixMilliseconds() - contents.savedAt))
                guard let learner = KeepaliveLearner(contents.table, elapsed: elapsed, bounds: bounds, at: now) else {
                    break
                }
                return LinkKeepAlive(
                    learner: learner,
                    devices: DeviceKeepalives(contents.devices ?? [], elapsed: elapsed, bounds: bounds, at: now))
            }
        } catch {
            logger.warning("keep-alives are learned again", metadata: ["why": "\(error.message)"])
        }
        return LinkKeepAlive(learner: KeepaliveLearner(bounds: bounds), devices: DeviceKeepalives(bounds: bounds))
    }

    /// Replaces what is stored.
    func write(_ state: LinkKeepAlive, at now: BootInstant) {
        do throws(RingwakeError) {
            try file.write(
                Contents(
                    savedAt: unixMilliseconds(), table: state.learner.snapshot(at: now),
                    devices: state.devices.lines(at: now)))
        } catch {
            logger.warning("learned keep-alives cannot be stored", metadata: ["why": "\(error.message)"])
        }
    }
}
