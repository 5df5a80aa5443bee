internal import FileSystem
internal import Glibc
package import RingwakeCore

/// The `[audio]` table.
package struct AudioSettings: Sendable, Equatable {
    /// How the audio server is reached. Nil: by the program for a user's daemon, not at all for root's.
    package var backend: Backend?
    /// For `socket`: path on which the user's `ringwake-audio` listens.
    package var socket: String?
    /// For `program`: its path. Nil: next to the daemon's own program, or where packages install it.
    package var program: String?
    /// What a connected call does to other players.
    package var calls = AudioPlan.Others.interrupt
    /// What a ringing call does to other players.
    package var ringing = AudioPlan.Others.leave
    /// Timeout of an activation. After that the call continues without audio.
    package var activation = Duration.seconds(2)
    /// How long the server stays connected after the last call or session.
    package var linger = Duration.seconds(10)

    package enum Backend: String, Sendable, CaseIterable {
        /// The daemon starts `ringwake-audio` when a call is reported or a session is opened.
        case program
        /// `ringwake-audio` listens as a unit of the audio server's user.
        case socket
        /// No audio server. Handlers are still notified when they may play.
        case none
    }

    /// Settings of the arbiter.
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

/// How the daemon reaches `ringwake-audio`.
package enum AudioEngineWay: Equatable, Sendable {
    /// A child process, with a socket as its standard input.
    case program(String, journal: String)
    /// A program that listens on this socket.
    case socket(String)

    /// Nil if there is no audio server.
    package init?(_ configuration: Configuration) {
        let audio = configuration.audio
        switch audio.backend ?? (configuration.isSystem ? .none : .program) {
        case .none: return nil
        case .socket:
            guard let socket = audio.socket else { return nil }
            self = .socket(socket)
        case .program:
            self = .program(
                audio.program ?? AudioEngineWay.standardProgram, journal: configuration.audioJournal)
        }
    }

    /// Next to the daemon's own program (as built), otherwise where packages install it.
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
    /// File in which `ringwake-audio` records its changes to the audio server.
    package var audioJournal: String { stateDirectory + "/audio-effects.json" }
}
