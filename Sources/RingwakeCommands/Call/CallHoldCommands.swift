import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake call hold`
struct CallHoldCommand: CallVerbCommand {
    static let verb = CallVerb.hold
    static let configuration = CommandConfiguration(
        commandName: "hold",
        abstract: "Hold a call.",
        discussion: """
            EXAMPLES:
              ringwake call hold 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11

            The call's handler is asked to hold it and has to say that it did; until then
            'ringwake call show' lists it as pending.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions
}

/// `ringwake call unhold`
struct CallUnholdCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unhold",
        abstract: "Go on with a call that is held.",
        discussion: """
            EXAMPLES:
              ringwake call unhold 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
              ringwake call unhold 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 --end-others

            Other calls that go on are held or ended first, as the app's policy says.
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var others: OtherCallsOptions
    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        try options.post(.unhold, to: id, others.body, in: context)
    }
}

/// `ringwake call mute`
struct CallMuteCommand: CallVerbCommand {
    static let verb = CallVerb.mute
    static let configuration = CommandConfiguration(
        commandName: "mute",
        abstract: "Turn the microphone of a call off.",
        discussion: """
            EXAMPLES:
              ringwake call mute 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions
}

/// `ringwake call unmute`
struct CallUnmuteCommand: CallVerbCommand {
    static let verb = CallVerb.unmute
    static let configuration = CommandConfiguration(
        commandName: "unmute",
        abstract: "Turn the microphone of a call on again.",
        discussion: """
            EXAMPLES:
              ringwake call unmute 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11
            """)

    @Argument(help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL).", valueName: "id"))
    var id: String?

    @OptionGroup var options: CallOptions
}

/// `ringwake call dtmf`
struct CallDTMFCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dtmf",
        abstract: "Play digits to the other side.",
        usage: "ringwake call dtmf [<id>] <digits> [options]",
        discussion: """
            EXAMPLES:
              ringwake call dtmf 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 1234#
              ringwake call dtmf 7b0e2f2a-6a39-4f0b-9d5e-0f6c2e0f8c11 0,,42

            Digits are 0-9, *, #, A-D, and a comma for a pause; at most 32 at a time. What
            is played is what the call's handler was asked for, in order.
            """)

    /// The most digits of one request.
    static let maximumDigits = 32

    @Argument(
        help: ArgumentHelp("The call's id (default: $RINGWAKE_CALL), then the digits.", valueName: "id> <digits"))
    var words: [String] = []

    @OptionGroup var options: CallOptions

    var wantsJSON: Bool { options.output.json }

    func validate() throws {
        guard (1...2).contains(words.count), let digits = words.last else {
            throw ValidationError("Give the digits, after the call's id if there is one.")
        }
        guard (1...CallDTMFCommand.maximumDigits).contains(digits.utf8.count),
            digits.allSatisfy({ "0123456789*#ABCD,".contains($0) })
        else {
            throw ValidationError(
                "'\(digits)' is no digits: 1 to \(CallDTMFCommand.maximumDigits) of 0-9, *, #, A-D and ',' are.")
        }
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let call = words.count == 2 ? words[0] : nil
        return try options.post(.dtmf, to: call, words.last.map { CallDigits(digits: $0) }, in: context)
    }
}
