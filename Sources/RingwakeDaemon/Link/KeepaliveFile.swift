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
    }

    private let file: StateFile<Contents>
    private let logger: Logger

    /// More than the learner's table takes.
    private static let maximumBytes = 2 << 20

    init(directory: String, logger: Logger) {
        file = StateFile(name: "keepalive.json", directory: directory, maximumSize: Self.maximumBytes)
        self.logger = logger
    }

    /// The table of the last run; an empty one if there is none.
    func read(_ bounds: KeepaliveBounds, at now: BootInstant) -> KeepaliveLearner {
        do throws(RingwakeError) {
            switch try file.read({ (contents) throws(RingwakeError) in contents }) {
            case .absent: break
            case .lost(let damage): logger.warning("keep-alives are learned again", metadata: ["why": "\(damage)"])
            case .found(let contents, _):
                let elapsed = Duration.milliseconds(max(0, unixMilliseconds() - contents.savedAt))
                return KeepaliveLearner(contents.table, elapsed: elapsed, bounds: bounds, at: now)
                    ?? KeepaliveLearner(bounds: bounds)
            }
        } catch {
            logger.warning("keep-alives are learned again", metadata: ["why": "\(error.message)"])
        }
        return KeepaliveLearner(bounds: bounds)
    }

    /// Replaces the table.
    func write(_ learner: KeepaliveLearner, at now: BootInstant) {
        do throws(RingwakeError) {
            try file.write(Contents(savedAt: unixMilliseconds(), table: learner.snapshot(at: now)))
        } catch {
            logger.warning("learned keep-alives cannot be stored", metadata: ["why": "\(error.message)"])
        }
    }
}
