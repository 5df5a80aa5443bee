import RunLoop

/// The stage of an HTTP/2 connection.
///
/// ```
/// handshaking --TLS done--> preface --client's SETTINGS--> established
///                              \______________________________/
///                                drain: GOAWAY |     | refuse: GOAWAY
///                                              v     v
///     closed <--all answered, sent-- draining       lingering --peer closed--> closed
/// ```
/// Every stage except `established` has one total deadline. A missed deadline, or a failure of the socket, TLS or
/// HTTP/2, leads to `closed` from every stage. A drained client is not waited for. Lingering reads and drops what the
/// peer still sends: closing a socket with unread bytes makes the kernel send a reset, which can destroy the GOAWAY in
/// transit.
enum HTTP2Stage {
    case handshaking(deadline: BootClock.Instant)
    case preface(deadline: BootClock.Instant)
    case established
    case draining(deadline: BootClock.Instant)
    case lingering(deadline: BootClock.Instant)
    case closed

    /// When the stage must have ended; nil if it may last.
    var deadline: BootClock.Instant? {
        switch self {
        case .handshaking(let deadline), .preface(let deadline), .draining(let deadline), .lingering(let deadline):
            deadline
        case .established, .closed:
            nil
        }
    }

    /// Whether the client has said nothing yet that is HTTP/2.
    var isBeginning: Bool { if case .preface = self { true } else { false } }

    /// Whether only the peer's close is waited for, or nothing.
    var isEnding: Bool {
        switch self {
        case .lingering, .closed: true
        case .handshaking, .preface, .established, .draining: false
        }
    }
}
