import ControlProtocol
import FoundationEssentials
import Reachability
import RingwakeCore

/// Reachability as the daemon sees it.
struct RemoteNetwork: NetworkView {
    private let client: ControlClient

    init(client: ControlClient) {
        self.client = client
    }

    func show(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        try printMonitor(printer)
        var slow = client
        // The daemon waits for names as long as this client waits for it otherwise.
        slow.timeout = client.timeout + LocalNetwork.nameTimeout
        let answer: TargetListMessage = try slow.get(try target(of: targets, isWatching: false))
        for message in answer.targets { try printer.print(message) }
    }

    func watch(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        try follow(try target(of: targets, isWatching: true), printer) { message, printer throws(RingwakeError) in
            try printer.print(message as TargetMessage)
        }
    }

    func showPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        try printMonitor(printer)
        let path: PathMessage = try client.get(RequestTarget("path"))
        try printer.print(path)
    }

    func watchPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        let target = RequestTarget("path", query: [("watch", "true")])
        try follow(target, printer) { message, printer throws(RingwakeError) in
            try printer.print(message as PathMessage)
        }
    }

    /// A request line of the daemon's has 8 KiB at most, with the method and the version of HTTP.
    private static let maximumTargetBytes = 8 * 1024 - 64

    private func target(
        of targets: [ReachabilityTarget], isWatching: Bool
    ) throws(RingwakeError) -> RequestTarget {
        let target = RequestTarget(
            "reachability",
            query: targets.map { ("target", $0.description) } + [("watch", isWatching ? "true" : nil)])
        guard target.text.utf8.count <= Self.maximumTargetBytes else {
            throw RingwakeError(
                .invalidRequest,
                "these targets are too long for one question to the daemon; name fewer at a time, or use --local")
        }
        return target
    }

    private func printMonitor(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        guard printer.isVerbose else { return }
        let status: StatusMessage = try client.get(RequestTarget("status"))
        printer.print(status.reachability)
    }

    private func follow<Message: Decodable>(
        _ target: RequestTarget, _ printer: ReachabilityPrinter,
        _ print: (Message, ReachabilityPrinter) throws(RingwakeError) -> Void
    ) throws(RingwakeError) {
        var stream = try client.events(target)
        try printMonitor(printer)
        while printer.output.isOpen {
            switch try stream.next(until: nil, output: printer.output.descriptor) {
            case .line(let line):
                guard let message = try? JSONDecoder().decode(Message.self, from: Data(line)) else {
                    throw RingwakeError(
                        .unreachable,
                        "the daemon sent a line that this version does not know; install the same version of both")
                }
                try print(message, printer)
                try printMonitor(printer)
            case .outputClosed: return
            case .ended, .timedOut:
                throw RingwakeError(
                    .daemonNotRunning,
                    "the daemon ended the stream: it stopped, or this reader was too slow for it; see its log, and "
                        + "ask again")
            }
        }
    }
}
