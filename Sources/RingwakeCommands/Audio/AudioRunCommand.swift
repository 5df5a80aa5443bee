import ArgumentParser
import ControlProtocol
import RingwakeCore

/// `ringwake audio run`
struct AudioRunCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "run", "Run a command with an audio session that is active while it runs.",
        examples: """
            ringwake audio run -- mpv concert.flac
            ringwake audio run --options duckOthers -- aplay message.wav
            ringwake audio run --category playAndRecord --mode voiceChat \\
              --options duckOthers -- baresip
            """,
        details: """
            The session includes everything that the command and its children play and
            record. It interrupts, ducks or mixes with other sound, as category and
            options say, and restores everything when it ends. Standard error shows when
            the session becomes active, is interrupted, and becomes active again.

            If the session cannot be activated, the command does not run, and the exit
            status says why; with --even-if-inactive it runs anyway. Otherwise the exit
            status is the command's: 128 plus the signal's number if a signal ended it,
            127 if it was not found, 126 if it could not be executed.
            """)

    @Option(help: .of("category", "What the command plays or records."))
    var category = WordArgument(AudioCategory.playback)

    @Option(help: .of("mode", "The session's mode; it has to fit the category."))

    var mode = WordArgument(AudioMode.default)

    @Option(help: .of("options", "One or more options, separated by commas."))
    var options = AudioOptionsArgument()

    @Option(
        help: .of("output", "The preferred output: a kind of port, or the audio server's name of a device."),
        completion: .outputs)
    var preferredOutput: String?

    @Option(help: .of("input", "The preferred input, in the same form."))
    var preferredInput: String?

    @Option(help: .of("text", "The session's name in lists (default: the command's name)."))
    var name: String?

    @Flag(help: "Run the command even if the session cannot be activated or no daemon runs.")
    var evenIfInactive = false

    @OptionGroup var control: ControlOptions

    @Argument(parsing: .postTerminator, help: .of("command", "The command and its arguments, after '--'."))
    var command: [String] = []

    func validate() throws {
        guard let first = command.first, !first.isEmpty else {
            throw ValidationError("Give the command after '--': ringwake audio run -- aplay message.wav")
        }
        do {
            _ = try opening.configuration()
        } catch {
            throw ValidationError(error.message)
        }
    }

    private var opening: AudioSessionOpening {
        let program = command.first ?? ""
        var opening = AudioSessionOpening.empty
        opening.name = name ?? program.split(separator: "/").last.map { String($0) } ?? program
        (opening.category, opening.mode) = (category.word.rawValue, mode.word.rawValue)
        opening.options = options.options.map(\.rawValue).sorted()
        opening.preferredOutput = preferredOutput.flatMap { AudioOutputName.output($0) }
        opening.preferredInput = preferredInput
        opening.active = true
        return opening
    }

    func run(in context: CommandContext) throws(RingwakeError) -> ExitStatus {
        let client = control.client(in: context)
        let reporter = AudioReporter(errors: context.errors, wantsJSON: wantsJSON)
        var session: AudioHold?
        do throws(RingwakeError) {
            session = try AudioHold(opening, client, reporter)
        } catch {
            guard evenIfInactive else { throw error }
            reporter.report("\(error.message); the command runs without an audio session")
        }
        return try CommandRun(command, session, reporter).wait()
    }
}

/// Options of a session, separated by commas.
struct AudioOptionsArgument: ExpressibleByArgument {
    let options: Set<AudioOption>

    init() { options = [] }

    init?(argument: String) {
        var options: Set<AudioOption> = []
        for word in argument.split(separator: ",", omittingEmptySubsequences: false) {
            guard let option = AudioOption(rawValue: String(word)) else { return nil }
            options.insert(option)
        }
        self.options = options
    }

    var defaultValueDescription: String { "none" }
    static var allValueStrings: [String] { AudioOption.allCases.map(\.rawValue) }
}

/// Wraps a word of a public enum, so that the enum itself needn't conform.
struct WordArgument<Word: RawRepresentable<String> & CaseIterable & Sendable>: ExpressibleByArgument {
    let word: Word

    init(_ word: Word) { self.word = word }

    init?(argument: String) {
        guard let word = Word(rawValue: argument) else { return nil }
        self.word = word
    }

    var defaultValueDescription: String { word.rawValue }
    static var allValueStrings: [String] { Word.allCases.map(\.rawValue) }
}
