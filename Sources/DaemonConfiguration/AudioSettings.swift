internal import FileSystem
internal import Glibc
package import RingwakeCore

/// What the section `[audio]` says.
package struct AudioSettings: Sendable, Equatable {
    /// Who holds the connection to the audio server; nil: a user's daemon starts the program, the machine's has none.
    package var backend: Backend?
    /// Of `socket`: where the user's `ringwake-audio` listens.
    package var socket: String?
    /// Of `program`: its path; nil: beside the daemon, or where packages put it.
    package var program: String?
    /// What a connected call does to others.
    package var calls = AudioPlan.Others.interrupt
    /// What a ringing call does to others.
    package var ringing = AudioPlan.Others.leave
    /// How long an activation may take before the call goes on without.
    package var activation = Duration.seconds(2)
    /// How long the server stays connected after the last call and session.
    package var linger = Duration.seconds(10)

    package enum Backend: String, Sendable, CaseIterable {
        /// `ringwake-audio` is started when a call is reported or a session is opened.
        case program
        /// It listens as a unit of the user whose audio server this is.
        case socket
        /// There is no audio server, or it is nobody's business: handlers are told when they may play, and that is all.
        case none
    }

    /// What the arbiter has to know.
    package func arbiterSettings(_ way: AudioEngineWay?) -> CallAudioSettings {
        var settings = CallAudioSettings()
        settings.others = calls
        settings.othersWhileRinging = ringing
        settings.activationTime = activation
        settings.linger = linger
        settings.hasEngine = way != nil
        return settings
    }
}

/// How the holder of the connection to the audio server is reached.
package enum AudioEngineWay: Equatable, Sendable {
    /// Started as a child, with a socket as its standard input.
    case program(String, journal: String)
    /// It listens there.
    case socket(String)

    /// Nil where there is to be none.
    package init?(_ configuration: Configuration, isRoot: Bool) {
        let audio = configuration.audio
        switch audio.backend ?? (isRoot ? .none : .program) {
        case .none: return nil
        case .socket:
            guard let socket = audio.socket else { return nil }
            self = .socket(socket)
        case .program:
            self = .program(
                audio.program ?? AudioEngineWay.standardProgram, journal: configuration.audioJournal)
        }
    }

    /// Beside the daemon's own program, as it is built; else where packages put programs that are no commands.
    private static var standardProgram: String {
        let packaged = "/usr/libexec/ringwake/ringwake-audio"
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count - 1)
        guard length > 0 else { return packaged }
        let own = String(decoding: path.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = Configuration.directory(of: own) + "/ringwake-audio"
        return FileSystem.isExecutableFile(beside) ? beside : packaged
    }
}

extension Configuration {
    /// Where the program that holds the connection to the audio server writes down what it does to it.
    package var audioJournal: String { stateDirectory + "/audio-effects.json" }
}
