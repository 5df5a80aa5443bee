package import RingwakeCore

extension AudioSessionError {
    /// As a general error; `Documentation/errors.md` has the table.
    package var error: RingwakeError { RingwakeError(code.errorCode, message) }
}

extension AudioSessionError.Code {
    /// The code of the control API and the command line.
    package var errorCode: RingwakeError.Code {
        switch self {
        case .badParam, .incompatibleCategory: .invalidRequest
        case .missingEntitlement: .notPermitted
        case .mediaServicesFailed: .unreachable
        case .isBusy, .cannotInterruptOthers, .cannotStartPlaying, .cannotStartRecording, .insufficientPriority,
            .resourceNotAvailable, .expiredSession, .sessionNotActive:
            .conflict
        case .unspecified: .failed
        }
    }
}

extension ErrorMessage {
    /// The error of an audio session, with the name and Apple's number of its code.
    package init(_ error: AudioSessionError) {
        self.init(
            error: error.code.errorCode.slug, message: error.message, code: error.code.rawValue,
            number: error.code.number)
    }

    /// The audio session's error in this message; nil if the message has another error.
    package var audioError: AudioSessionError? {
        code.flatMap { AudioSessionError.Code(rawValue: $0) }.map { AudioSessionError($0, message) }
    }
}
