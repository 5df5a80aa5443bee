import CallService
import ControlProtocol
import HTTPServer
import HandlerActivation
import RingwakeCore

/// One connection to the control socket.
final class ControlConnection: HTTPConnectionHandler {
    private let calls: CallDriver
    private let peer: ControlPeer
    /// The units that the peer was in when it connected.
    private let units: PeerUnits?
    let holder: PlaceHolder?

    /// - Parameters:
    ///   - peer: who connects; nil if the kernel doesn't say.
    ///   - group: the group of the socket; nil if only the owner may connect.
    init(calls: CallDriver, peer: PeerCredentials?, group: UInt32?) {
        self.calls = calls
        guard let peer else {
            (self.peer, units, holder) = (ControlPeer(.stranger), nil, nil)
            return
        }
        let isMember = group.map { peer.isMember(of: $0) } ?? false
        let found = peer.whileItRuns { pid in (PeerUnits(of: pid), ProcessIdentity(current: pid)) }
        self.peer = ControlPeer(
            peer.isOwner ? .owner : isMember ? .member : .stranger,
            user: peer.userID, pid: peer.processID > 0 ? peer.processID : nil, process: found?.1,
            isInHandlerUnit: found?.0.isOfHandlers ?? false)
        units = found?.0
        let unit = found.flatMap { calls.activator.wake(of: $0.0) }
        holder = unit.flatMap { calls.service.handlers[$0] }.map { .app($0.app.rawValue) }
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        var peer = peer
        // Now: a unit without instances is started again for later calls.
        peer.unit = units.flatMap { calls.activator.wake(of: $0) }
        calls.submit(
            .request(
                ServiceRequest(
                    calls.requests.add(exchange), request.method, request.path, body: request.body,
                    authorization: request.values(of: "authorization").first,
                    userAgent: request.values(of: "user-agent").first, peer: peer)))
    }

    func connectionClosed() {}
}

/// One connection to the status socket. Its peer is a stranger, even root.
final class StatusConnection: HTTPConnectionHandler {
    private let answer: (ServiceRequest, any HTTPExchange) -> Void

    private static let questions: Set<String> = ["status", "path", "reachability"]

    private let user: UInt32?

    /// - Parameters:
    ///   - user: who connects; nil if the kernel doesn't say.
    ///   - answer: answers the questions that strangers may ask.
    init(user: UInt32?, answer: @escaping (ServiceRequest, any HTTPExchange) -> Void) {
        self.user = user
        self.answer = answer
    }

    func received(_ request: HTTPRequest, on exchange: any HTTPExchange) {
        var question = ServiceRequest(
            RequestID(number: 0), request.method, request.path, body: [], authorization: nil,
            peer: ControlPeer(.stranger, user: user))
        do throws(RingwakeError) {
            try question.parse()
            guard question.parts.count == 1, StatusConnection.questions.contains(question.parts[0]) else {
                throw Caller.strangersMayNot
            }
            answer(question, exchange)
        } catch {
            exchange.respond(.failure(error))
        }
    }

    func connectionClosed() {}
}
