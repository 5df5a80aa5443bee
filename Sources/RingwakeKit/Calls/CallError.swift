/// Why something could not be done to a call. More cases may come.
public enum CallError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call does not ring: it was kept out, by this. Detail is for a person.
    case filtered(by: CallFilter, detail: String)
    /// The call does not ring: another one goes on, and the app's policy refuses further ones then.
    case busy
    /// The call is over.
    case alreadyEnded(CallEndReason)
    /// The daemon knows no such call of the app.
    case unknownCall
    /// Another handler has the call, or it is to be claimed first.
    case notOwned(String)
    /// It does not fit the state that the call is in.
    case wrongState(CallState)
    /// The daemon was not there, or did not answer, within the time for requests. It may have been done.
    case noAnswer(RingwakeKitError)
    /// The daemon refuses it for another reason.
    case refused(RingwakeKitError)

    public var description: String {
        switch self {
        case .filtered(let filter, let detail): "kept out by \(filter.rawValue): \(detail)"
        case .busy: "another call goes on, and the app refuses further ones then"
        case .alreadyEnded(let reason): "the call is over: \(reason.rawValue)"
        case .unknownCall: "the daemon knows no such call"
        case .notOwned(let message): message
        case .wrongState(let state): "that does not fit the call's state, which is \(state.rawValue)"
        case .noAnswer(let error), .refused(let error): error.message
        }
    }
}
