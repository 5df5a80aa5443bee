@testable import ControlProtocol
import FoundationEssentials
import RingwakeCore
import Testing

@Suite("Audio sessions in the control API")
struct AudioMessageTests {
    private func read<Message: Codable & Equatable>(_ message: Message) throws -> Bool {
        try JSONDecoder().decode(Message.self, from: JSONEncoder().encode(message)) == message
    }

    @Test("What is written is what is read")
    func roundTrips() throws {
        #expect(try read(AudioSamples.connected))
        #expect(try read(AudioSamples.callSession))
        #expect(try read(AudioNoticeMessage(AudioSamples.busyCall)))
        #expect(try read(ErrorMessage(AudioSamples.busyCall)))
        let all = AudioConfigurationBody(
            category: "record", mode: "default", options: [], preferredOutput: "a", preferredInput: "b")
        #expect(try read(ActionResult(action: "answer", audio: all)))
        #expect(try JSONDecoder().decode(AudioSessionOpening.self, from: Data("{}".utf8)) == AudioSessionOpening())
        #expect(try JSONDecoder().decode(AudioRouteChoice.self, from: Data("{}".utf8)) == AudioRouteChoice())
    }

    @Test("A body's words become a configuration")
    func configuration() throws {
        let body = AudioConfigurationBody(
            category: "playAndRecord", mode: "voiceChat", options: ["duckOthers", "duckOthers", "defaultToSpeaker"],
            preferredOutput: "headset", preferredInput: "mic")
        let configuration = try body.configuration()
        #expect(
            try configuration
                == AudioSessionConfiguration(
                    .playAndRecord, mode: .voiceChat, options: [.duckOthers, .defaultToSpeaker],
                    preferredOutput: "headset", preferredInput: "mic"))
        #expect(try AudioSessionOpening().configuration() == .standard)
        #expect(try AudioSessionOpening(category: "ambient").configuration().category == .ambient)
        #expect(try AudioConfigurationBody(category: "playback").configuration().mode == .default)
    }

    @Test(
        "A word that is none is named, with those that there are",
        arguments: [
            (AudioConfigurationBody(category: "music"), "'music' is no category; there are ambient"),
            (AudioConfigurationBody(category: "playback", mode: "loud"), "'loud' is no mode; there are default"),
            (
                AudioConfigurationBody(category: "playback", options: ["duck"]),
                "'duck' is no option; there are mixWithOthers"
            ),
            (AudioConfigurationBody(category: "playback", mode: "voiceChat"), "the mode voiceChat does not fit"),
            (
                AudioConfigurationBody(category: "ambient", options: ["duckOthers"]),
                "the option duckOthers does not fit"
            ),
            (AudioConfigurationBody(category: "ambient", preferredOutput: ""), "1 to 256 bytes"),
        ])
    func badWords(body: AudioConfigurationBody, says: String) {
        let error = #expect(throws: AudioSessionError.self) { try body.configuration() }
        #expect(error?.code == .badParam)
        #expect(error?.message.contains(says) == true)
    }

    @Test("The name of an output is bounded")
    func output() throws {
        #expect(try AudioRouteChoice().validated() == nil)
        #expect(try AudioRouteChoice(output: "headset").validated() == "headset")
        for name in ["", String(repeating: "n", count: 257)] {
            #expect(throws: AudioSessionError.self) { try AudioRouteChoice(output: name).validated() }
        }
    }

    @Test(
        "Each code of Apple's has a status, and comes back from its message", arguments: AudioSessionError.Code.allCases
    )
    func codes(code: AudioSessionError.Code) {
        let error = AudioSessionError(code, "why")
        let message = ErrorMessage(error)
        #expect(message.code == code.rawValue && message.number == code.number && message.message == "why")
        #expect(message.audioError == error)
        let status: Int =
            switch code {
            case .badParam, .incompatibleCategory: 400
            case .missingEntitlement: 403
            case .mediaServicesFailed: 502
            case .unspecified: 500
            default: 409
            }
        #expect(error.error.code.httpStatus == status)
    }

    @Test("A message of another failure tells of no audio error")
    func otherErrors() {
        #expect(ErrorMessage(error: "conflict", message: "m").audioError == nil)
        #expect(ErrorMessage(error: "conflict", message: "m", code: "newer", number: 1).audioError == nil)
    }

    private var key: CallKey {
        get throws { CallKey(app: try #require(AppID("com.example.phone")), id: CallID("c1")) }
    }

    private func event(_ verb: CallVerb, _ body: String) throws -> Event {
        try verb.event(on: key, by: WakeID(number: 7), body: Array(body.utf8)) { _ in nil }
    }

    @Test("A handler says what its call's audio is")
    func audioVerb() throws {
        let event = try event(.audio, #"{"category":"playAndRecord","mode":"videoChat"}"#)
        #expect(
            try event
                == .audioConfigured(
                    key, AudioSessionConfiguration(.playAndRecord, mode: .videoChat), by: WakeID(number: 7)))
        let error = #expect(throws: RingwakeError.self) { _ = try self.event(.audio, #"{"category":"loud"}"#) }
        #expect(error?.code == .invalidRequest)
        #expect(throws: RingwakeError.self) { _ = try self.event(.audio, "") }
    }

    @Test("Fulfilling an answer may say it too, and no other action", arguments: ["answer", "unhold"])
    func fulfilling(action: String) throws {
        let voice = try AudioSessionConfiguration(.playAndRecord, mode: .voiceChat)
        let audio = #""audio":{"category":"playAndRecord","mode":"voiceChat"}"#
        let kind = try #require(CallAction(rawValue: action))
        let by = WakeID(number: 7)
        #expect(
            try event(.fulfill, #"{"action":"\#(action)",\#(audio)}"#) == .fulfilled(key, kind, by: by, audio: voice))
        #expect(try event(.fulfill, #"{"action":"\#(action)"}"#) == .fulfilled(key, kind, by: by))
        #expect(throws: RingwakeError.self) { _ = try self.event(.fulfill, #"{"action":"hold",\#(audio)}"#) }
        #expect(throws: RingwakeError.self) {
            _ = try self.event(.fulfill, #"{"action":"answer","audio":{"category":"x"}}"#)
        }
    }
}
