import RingwakeCore
import Testing

@Suite("Categories, modes, options, errors and reasons: what AVAudioSession has, with its numbers")
struct AudioVocabularyTests {
    /// The four characters of a code as a big-endian integer.
    static func number(_ code: String) -> Int32 { code.utf8.reduce(0) { $0 << 8 | Int32($1) } }

    @Test(
        "Each error has Apple's number: the four characters of its name",
        arguments: [
            (AudioSessionError.Code.isBusy, "!act"), (.incompatibleCategory, "!cat"), (.cannotInterruptOthers, "!int"),
            (.missingEntitlement, "ent?"), (.cannotStartPlaying, "!pla"), (.cannotStartRecording, "!rec"),
            (.insufficientPriority, "!pri"), (.resourceNotAvailable, "!res"), (.mediaServicesFailed, "msrv"),
            (.expiredSession, "!ses"), (.sessionNotActive, "inac"), (.unspecified, "what"),
        ])
    func numbers(code: AudioSessionError.Code, characters: String) {
        #expect(code.number == AudioVocabularyTests.number(characters))
    }

    @Test("All but badParam, which is -50; no two are equal")
    func distinct() {
        #expect(AudioSessionError.Code.badParam.number == -50)
        #expect(Set(AudioSessionError.Code.allCases.map(\.number)).count == AudioSessionError.Code.allCases.count)
        #expect(AudioSessionError(.isBusy, "streams run").description == "isBusy: streams run")
    }

    @Test("Reasons of a change of the route have AVAudioSession's numbers; 5 is none")
    func reasons() {
        #expect(AudioRouteChangeReason.allCases.map(\.number) == [0, 1, 2, 3, 4, 6, 7, 8])
    }

    static let modes: [AudioMode: [AudioCategory]] = [
        .default: AudioCategory.allCases, .voiceChat: [.playAndRecord], .videoChat: [.playAndRecord],
        .gameChat: [.playAndRecord], .videoRecording: [.record, .playAndRecord], .moviePlayback: [.playback],
        .spokenAudio: [.playback], .measurement: [.playback, .record, .playAndRecord],
    ]

    @Test("A mode fits its categories, and is badParam in all others", arguments: AudioMode.allCases)
    func modes(mode: AudioMode) {
        for category in AudioCategory.allCases {
            let fits = AudioVocabularyTests.modes[mode]?.contains(category) == true
            #expect(AudioVocabularyTests.code(category, mode) == (fits ? nil : .badParam))
        }
    }

    static let options: [AudioOption: [AudioCategory]] = [
        .mixWithOthers: [.playback, .playAndRecord, .multiRoute],
        .duckOthers: [.playback, .playAndRecord, .multiRoute],
        .interruptSpokenAudioAndMixWithOthers: [.playback, .playAndRecord, .multiRoute],
        .allowBluetoothHFP: [.record, .playAndRecord], .allowBluetoothA2DP: [.playAndRecord],
        .defaultToSpeaker: [.playAndRecord], .overrideMutedMicrophoneInterruption: [.record, .playAndRecord],
    ]

    @Test("An option is allowed in its categories, and badParam in all others", arguments: AudioOption.allCases)
    func options(option: AudioOption) {
        for category in AudioCategory.allCases {
            let fits = AudioVocabularyTests.options[option]?.contains(category) == true
            #expect(AudioVocabularyTests.code(category, .default, [option]) == (fits ? nil : .badParam))
        }
    }

    /// What making this configuration fails with.
    static func code(
        _ category: AudioCategory, _ mode: AudioMode, _ options: Set<AudioOption> = [], output: String? = nil
    ) -> AudioSessionError.Code? {
        do throws(AudioSessionError) {
            _ = try AudioSessionConfiguration(category, mode: mode, options: options, preferredOutput: output)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("Names of devices are bounded")
    func names() {
        let longest = String(repeating: "x", count: AudioSessionConfiguration.maximumNameBytes)
        #expect(AudioVocabularyTests.code(.playback, .default, output: longest) == nil)
        #expect(AudioVocabularyTests.code(.playback, .default, output: longest + "x") == .badParam)
        #expect(AudioVocabularyTests.code(.playback, .default, output: "") == .badParam)
    }

    @Test("What is mixable: ambient always, others by the option or by one that implies it; record never")
    func mixable() {
        #expect(configuration(.ambient).isMixable)
        for category in AudioCategory.allCases where category != .ambient {
            #expect(!configuration(category).isMixable)
        }
        for option in [AudioOption.mixWithOthers, .duckOthers, .interruptSpokenAudioAndMixWithOthers] {
            #expect(configuration(.playback, .default, [option]).isMixable)
        }
        #expect(!configuration(.playAndRecord, .default, [.defaultToSpeaker]).isMixable)
    }

    @Test("Modes bring options along: voiceChat hands-free devices, videoChat the speaker too")
    func implied() {
        #expect(AudioSessionConfiguration.chat.effectiveOptions == [.allowBluetoothHFP])
        let video = configuration(.playAndRecord, .videoChat)
        #expect(video.effectiveOptions == [.allowBluetoothHFP, .defaultToSpeaker] && video.options.isEmpty)
        #expect(AudioSessionConfiguration.chat.isVoice && video.isVoice && !AudioSessionConfiguration.music.isVoice)
        let standard = AudioSessionConfiguration.standard
        #expect(standard.category == .soloAmbient && standard.mode == .default && standard.effectiveOptions.isEmpty)
    }

    @Test("Which categories take the microphone, and which make sound")
    func directions() {
        #expect(AudioCategory.allCases.filter(\.hasInput) == [.record, .playAndRecord, .multiRoute])
        #expect(AudioCategory.allCases.filter { !$0.hasOutput } == [.record])
    }
}
