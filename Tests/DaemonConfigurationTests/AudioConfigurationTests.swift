import RingwakeCore
import Testing

@testable import DaemonConfiguration

@Suite("What the configuration says of audio, and how the audio server is reached then")
struct AudioConfigurationTests {
    private typealias Folder = ConfigurationTests.Folder

    @Test("All of it is read, and what is left out has its default")
    func read() throws {
        let defaults = try Folder("").load().audio
        #expect(defaults == AudioSettings())
        #expect(defaults.calls == .interrupt && defaults.ringing == .leave)
        #expect(defaults.activation == .seconds(2) && defaults.linger == .seconds(10))
        let audio = try Folder(
            """
            [audio]
            backend = "program"
            program = "bin/ringwake-audio"
            calls = "duck"
            ringing = "duck"
            activation = "500ms"
            linger = "0s"
            """
        ).load()
        #expect(audio.audio.backend == .program && audio.audio.calls == .duck && audio.audio.ringing == .duck)
        #expect(audio.audio.activation == .milliseconds(500) && audio.audio.linger == .zero)
        let way = try #require(AudioEngineWay(audio))
        guard case .program(let path, let journal) = way else { return #expect(Bool(false), "\(way)") }
        #expect(path.hasPrefix("/") && path.hasSuffix("/bin/ringwake-audio"))
        #expect(journal == audio.stateDirectory + "/audio-effects.json")
        let settings = audio.audio.arbiterSettings(way)
        #expect(settings.others == .duck && settings.hasEngine && settings.activationTime == .milliseconds(500))
        #expect(!audio.audio.arbiterSettings(nil).hasEngine)
    }

    @Test("The machine's daemon touches no server unless it is told of a socket; a user's starts the program")
    func ways() throws {
        let system = StandardPaths(isRoot: true, environment: [:])
        #expect(AudioEngineWay(try Folder("").load(defaults: system)) == nil)
        let silent = try Folder("").load()
        guard case .program(_, let journal)? = AudioEngineWay(silent) else {
            return #expect(Bool(false))
        }
        #expect(journal == silent.audioJournal)
        for defaults in [system, Folder.user] {
            let socket = try Folder("[audio]\nsocket = \"/run/ringwake-audio/7.sock\"")
            #expect(AudioEngineWay(try socket.load(defaults: defaults)) == .socket("/run/ringwake-audio/7.sock"))
            let none = try Folder("[audio]\nbackend = \"none\"\nsocket = \"/run/audio.sock\"")
            #expect(AudioEngineWay(try none.load(defaults: defaults)) == nil)
        }
    }

    @Test(
        "What is wrong is said with its place",
        arguments: [
            (
                "[audio]\nbackend = \"pulse\"",
                ":2: 'audio.backend' has to be one of 'program', 'socket', 'none', not 'pulse'"
            ),
            ("[audio]\nbackend = \"socket\"", "'audio.socket' is missing"),
            (
                "[audio]\ncalls = \"mute\"",
                ":2: 'audio.calls' has to be one of 'leave', 'duck', 'interrupt', not 'mute'"
            ),
            ("[audio]\nactivation = \"31s\"", ":2: 'audio.activation'"),
            ("[audio]\ngain = 1", ":2: 'audio.gain' is not a setting"),
        ])
    func wrong(text: String, message: String) throws {
        let error = #expect(throws: RingwakeError.self) { _ = try Folder(text).load() }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}
