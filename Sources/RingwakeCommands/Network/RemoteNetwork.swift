import ControlProtocol
import Reachability
import RingwakeCore

/// Reachability as the daemon sees it.
final class RemoteNetwork: NetworkView {
    private let client: ControlClient
    /// Whether the daemon turned out to be in another network namespace.
    private(set) var isElsewhere = false

    init(client: ControlClient) {
        self.client = client
    }

    func show(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        var slow = client
        // The daemon takes up to ``LocalNetwork/nameTimeout`` to look names up, so wait longer.
        slow.timeout = client.timeout + LocalNetwork.nameTimeout
        let answer: TargetListMessage = try slow.get(try target(of: targets, isWatching: false))
        try requireHere(answer.networkNamespace)
        try printMonitor(printer)
        for message in answer.targets { printer.print(message) }
    }

    func watch(_ targets: [ReachabilityTarget], _ printer: ReachabilityPrinter) throws(RingwakeError) {
        try requireHere()
        try follow(try target(of: targets, isWatching: true), printer) { printer.print($0 as TargetMessage) }
    }

    func showPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        try requireHere()
        try printMonitor(printer)
        let path: PathMessage = try client.get(RequestTarget("path"))
        printer.print(path)
    }

    func watchPath(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        try requireHere()
        let target = RequestTarget("path", query: [("watch", "true")])
        try follow(target, printer) { printer.print($0 as PathMessage) }
    }

    /// The member that all kinds of status have.
    private struct Place: Decodable {
        let networkNamespace: UInt64?
    }

    private func requireHere() throws(RingwakeError) {
        let place: Place = try client.get(RequestTarget("status"))
        try requireHere(place.networkNamespace)
    }

    /// - Throws: `daemonNotRunning`: the daemon is in another network namespace, so its results don't hold here.
    private func requireHere(_ namespace: UInt64?) throws(RingwakeError) {
        guard let namespace, let own = NetworkNamespace.current(), namespace != own else { return }
        isElsewhere = true
        throw RingwakeError(
            .daemonNotRunning,
            "the daemon is in another network namespace, so what it can reach says nothing about this one; use --local, "
                + "or run the command in the daemon's namespace")
    }

    /// The daemon accepts request lines of 8 KiB, including the method and the HTTP version.
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
                "these targets are too long for one request to the daemon; name fewer at a time, or use --local")
        }
        return target
    }

    private func printMonitor(_ printer: ReachabilityPrinter) throws(RingwakeError) {
        guard printer.isVerbose else { return }
        let status: StatusMessage = try client.get(RequestTarget("status"))
        printer.print(status.reachability)
    }

    private func follow<Message: Decodable>(
        _ target: RequestTarget, _ printer: ReachabilityPrinter, _ print: (Message) -> Void
    ) throws(RingwakeError) {
        var stream = try client.events(target)
        try printMonitor(printer)
        while printer.output.isOpen {
            switch try stream.next(until: nil, output: printer.output.descriptor) {
            case .line(let line):
                print(try EventStream.message(line, "a line"))
                try printMonitor(printer)
            case .outputClosed: return
            case .ended, .timedOut:
                throw RingwakeError(
                    .daemonNotRunning,
                    "the daemon closed the stream: it stopped, or this reader was too slow; see its log, and try "
                        + "again")
            }
        }
    }
}
