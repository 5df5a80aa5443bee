internal import DeviceLink
internal import FileSystem
internal import FoundationEssentials
internal import Logging
internal import PushGateway
internal import RingwakeCore
internal import RunLoop

/// What happens when this device and its gateway disagree about registrations (client reset): copies before and after, the
/// plan of the mode, and hooks. The link, the calls and all streams go on meanwhile.
final class ClientResets {
    /// A disagreement and what was done about it.
    struct Report: Codable {
        let why: LinkDisagreement
        /// In words.
        let text: String
        let mode: String
        /// `begun`, `waiting` for a person, `recovered`, `discarded`, or `failed`.
        var result: String
        static let waiting = "waiting"
        /// In ms since 1970.
        let at: Int64
        /// The folder with the copies.
        var folder: String?
    }

    /// The last one since the start; nil if there was none.
    private(set) var last: Report? { didSet { if let last { onReport(last) } } }
    /// Called before anything is changed, and afterwards.
    var onReport: (Report) -> Void = { _ in }

    private let directory: String
    private let tokens: TokenStore
    private let hooks: LinkHooks
    private let logger: Logger

    /// The folder of copies in the state directory, and how many are kept.
    private static let folder = "resets"
    private static let maximumCopies = 10

    init(
        directory: String, tokens: TokenStore, hooks: LinkHooks, logger: Logger
    ) {
        self.directory = directory
        self.tokens = tokens
        self.hooks = hooks
        self.logger = logger
    }

    /// The two disagree, and a person has to decide.
    func wait(_ why: LinkDisagreement, _ text: String, _ mode: LinkResetMode) {
        last = Report(why: why, text: text, mode: mode.rawValue, result: Report.waiting, at: unixMilliseconds())
        logger.error(
            "this device and its gateway do not agree, and nothing is changed; run 'ringwake link reset --now'",
            metadata: ["code": "\(why.rawValue)", "why": "\(text)"])
    }

    /// Brings the two together.
    ///
    /// - Throws: `system` if something can't be written. What was changed until then stays, and is tried again at the next
    ///   link.
    func run(
        _ why: LinkDisagreement, _ text: String, _ mode: LinkResetMode, _ plan: LinkResetPlan,
        _ gateway: GatewayRegistrations
    ) throws(RingwakeError) {
        var report = Report(why: why, text: text, mode: mode.rawValue, result: "begun", at: unixMilliseconds())
        do throws(RingwakeError) {
            try run(&report, plan, gateway)
            report.result = mode == .discard ? "discarded" : "recovered"
            last = report
        } catch {
            report.result = "failed"
            last = report
            throw error
        }
        let folder = report.folder ?? ""
        logger.warning(
            "this device and its gateway did not agree; their registrations are brought together",
            metadata: [
                "code": "\(why.rawValue)", "why": "\(text)", "action": "\(report.result)",
                "taken": "\(plan.adopted.count)", "expired": "\(plan.expired.count)", "copies": "\(folder)",
            ])
        hooks.run(hooks.after, folder: folder)
    }

    private func run(
        _ report: inout Report, _ plan: LinkResetPlan, _ gateway: GatewayRegistrations
    ) throws(RingwakeError) {
        let folder = try makeFolder(at: report.at)
        report.folder = folder
        try write(tokens.registrations, to: "\(folder)/before.json")
        try write(gateway, to: "\(folder)/gateway.json")
        last = report
        hooks.run(hooks.before, folder: folder)
        try tokens.apply(plan, at: report.at)
        try write(tokens.registrations, to: "\(folder)/after.json")
    }

    private func makeFolder(at time: Int64) throws(RingwakeError) -> String {
        let parent = "\(directory)/\(Self.folder)"
        do throws(FileSystemError) {
            try FileSystem.createDirectory(parent, mode: 0o700)
            let folder = "\(parent)/\(time)"
            try FileSystem.createDirectory(folder, mode: 0o700)
            for old in try FileSystem.entries(of: parent).sorted().dropLast(Self.maximumCopies) {
                try FileSystem.removeTree("\(parent)/\(old)")
            }
            return folder
        } catch {
            throw RingwakeError(.system, "the copies before a client reset cannot be made: \(error.description)")
        }
    }

    private func write(_ value: some Encodable, to path: String) throws(RingwakeError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        guard let data = try? encoder.encode(value) else {
            throw RingwakeError(.failed, "\(path) cannot be encoded; report this as a bug")
        }
        do throws(FileSystemError) {
            try FileSystem.replace(path, with: Array(data), mode: 0o400)
        } catch {
            throw RingwakeError(.system, "\(path) cannot be written: \(error.reason)")
        }
    }
}
