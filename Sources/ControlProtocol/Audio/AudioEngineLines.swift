internal import FoundationEssentials
package import RingwakeCore

/// What cannot be read on the line between the daemon and `ringwake-audio`.
package enum AudioEngineLineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A message of this name is none that is known here: the other end is of another version.
    case unknown(String)
    /// It is no message at all. Why, for a person.
    case malformed(String)
    /// It has more than ``AudioEngineLine/maximumBytes``.
    case tooLong

    package var description: String {
        switch self {
        case .unknown(let name): "a message '\(name)', which this version does not know"
        case .malformed(let why): "no message of an audio engine: \(why)"
        case .tooLong: "a line of more than \(AudioEngineLine.maximumBytes) bytes"
        }
    }
}

/// The messages between the daemon and `ringwake-audio`: each a JSON object with one member, the message's name, on a
/// line of its own.
package enum AudioEngineLine {
    /// Bytes of a line at most, without its end. A plan with 64 sessions has some 40 KiB.
    package static let maximumBytes = 256 << 10

    /// The request with the end of its line.
    package static func encoded(_ request: AudioEngineRequest) -> [UInt8] { controlLine(request) }

    /// The report with the end of its line.
    package static func encoded(_ report: AudioEngineReport) -> [UInt8] { controlLine(report) }

    /// - Parameter line: Without its end.
    package static func request(_ line: [UInt8]) throws(AudioEngineLineError) -> AudioEngineRequest {
        try read(line, names: ["prepare", "apply", "chooseOutput", "wokeFromSleep"])
    }

    /// - Parameter line: Without its end.
    package static func report(_ line: [UInt8]) throws(AudioEngineLineError) -> AudioEngineReport {
        try read(
            line,
            names: [
                "ready", "connected", "unavailable", "lost", "applied", "refused", "outputChosen", "routeChanged",
                "routeDisconnected", "microphoneMuted", "activity", "problem",
            ])
    }

    private static func read<Message: Decodable>(
        _ line: [UInt8], names: Set<String>
    ) throws(AudioEngineLineError) -> Message {
        guard line.count <= maximumBytes else { throw .tooLong }
        let data = Data(line)
        let name: String
        do {
            let members = try JSONDecoder().decode(MemberNames.self, from: data).names
            guard members.count == 1, let only = members.first else {
                throw AudioEngineLineError.malformed("an object of \(members.count) members")
            }
            name = only
        } catch let error as AudioEngineLineError {
            throw error
        } catch {
            throw .malformed("not one JSON object")
        }
        guard names.contains(name) else { throw .unknown(String(name.prefix(64))) }
        do {
            return try JSONDecoder().decode(Message.self, from: data)
        } catch let error as DecodingError {
            throw .malformed("'\(name)': \(reason(error))")
        } catch {
            // What a session's configuration says of itself.
            throw .malformed("'\(name)': \(error)")
        }
    }

    private static func reason(_ error: DecodingError) -> String {
        let context =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
                .dataCorrupted(let context):
                context
            @unknown default: DecodingError.Context(codingPath: [], debugDescription: "unreadable")
            }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }

    /// The names of an object's members, whatever they hold.
    private struct MemberNames: Decodable {
        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { return nil }
        }

        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
        }
    }
}

/// Cuts bytes into the lines of ``AudioEngineLine``.
package typealias AudioEngineLines = LineSplitter<AudioEngineLineError>

extension AudioEngineLines {
    package init() { self.init(maximumBytes: AudioEngineLine.maximumBytes, tooLong: .tooLong) }
}
