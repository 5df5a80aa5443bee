internal import ControlProtocol
internal import FoundationEssentials
internal import HTTPServer
internal import PushGateway
internal import RingwakeCore

extension EventMessage {
    /// A sender's request, for those who test it.
    init(_ watched: WatchedRequest) {
        let request = watched.request
        let wasRead = watched.app != nil || !request.body.isEmpty
        let text = String(validating: request.body, as: UTF8.self).flatMap { $0.isPlain ? $0 : nil }
        self = .pushRequest(
            PushRequest(
                at: UTCTime(milliseconds: watched.at).description, peer: watched.peer,
                environment: watched.environment.rawValue, team: watched.team, app: watched.app?.rawValue,
                method: request.method, path: request.path,
                headers: request.fields.map { .init(name: $0.name, value: shown($0)) },
                payload: wasRead ? text : nil,
                payloadBinary: wasRead && text == nil ? Data(request.body).base64EncodedString() : nil,
                pushId: watched.pushID, status: watched.status, pushReason: watched.reason, cause: watched.cause,
                fault: watched.fault?.names.name))
    }
}

extension String {
    /// Whether it has no control characters but line ends and tabs, so that JSON doesn't make it much longer.
    fileprivate var isPlain: Bool {
        utf8.allSatisfy { byte in byte >= 0x20 && byte != 0x7F || [9, 10, 13].contains(byte) }
    }
}

/// The value of a field. A provider token that anybody could use is shown without its signature.
private func shown(_ field: HTTPField) -> String {
    guard field.name == "authorization", let end = field.value.lastIndex(of: ".") else { return field.value }
    return field.value[...end] + "…"
}
