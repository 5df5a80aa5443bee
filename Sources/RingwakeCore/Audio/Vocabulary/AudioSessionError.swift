/// Why a request to an audio session failed. Every error leaves the session as it was, except ``Code/isBusy``.
public struct AudioSessionError: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    public let code: Code
    /// What happened, and what to do, for a person.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }

    /// `AVAudioSession.ErrorCode`, with Apple's numbers: a client that was written for iOS can keep its `switch`.
    public enum Code: String, Sendable, Codable, CaseIterable {
        /// The session was deactivated while its streams still ran. It is inactive nevertheless, and the streams are
        /// silenced.
        case isBusy
        case incompatibleCategory
        /// The session may not interrupt others: it has no lease, so it is not in the foreground.
        case cannotInterruptOthers
        /// The client requested something that only the daemon may do.
        case missingEntitlement
        case cannotStartPlaying
        case cannotStartRecording
        /// A mode or an option that does not fit the category.
        case badParam
        /// A session of higher priority is active.
        case insufficientPriority
        /// There is no suitable device, or the server refused.
        case resourceNotAvailable
        /// There is no audio server, or it is gone.
        case mediaServicesFailed
        /// The daemon closed the session.
        case expiredSession
        case sessionNotActive
        case unspecified

        /// Apple's number: the four characters of its name as a big-endian integer, or -50.
        public var number: Int32 {
            switch self {
            case .isBusy: 560_030_580
            case .incompatibleCategory: 560_161_140
            case .cannotInterruptOthers: 560_557_684
            case .missingEntitlement: 1_701_737_535
            case .cannotStartPlaying: 561_015_905
            case .cannotStartRecording: 561_145_187
            case .badParam: -50
            case .insufficientPriority: 561_017_449
            case .resourceNotAvailable: 561_145_203
            case .mediaServicesFailed: 1_836_282_486
            case .expiredSession: 561_210_739
            case .sessionNotActive: 1_768_841_571
            case .unspecified: 2_003_329_396
            }
        }
    }
}
