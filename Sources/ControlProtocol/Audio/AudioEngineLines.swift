internal import FoundationEssentials
package import RingwakeCore

/// Why a line between the daemon and `ringwake-audio` can't be read.
package enum AudioEngineLineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message's name is unknown here, so the other end has another version.
    case unknown(String)
    /// The line isn't a message; the reason, for people.
    case malformed(String)
    /// The line has more than ``AudioEngineLine/maximumBytes``.
    case tooLong

    package var description: String {
        switch self {
        case .unknown(let name): "a message '\(name)', which this version does not know"
        case .malformed(let why): "no message of an audio engine: \(why)"
        case .tooLong: "a line of more than \(AudioEngineLine.maximumBytes) bytes"
        }
    }
}

/// The messages between the daemon and `ringwake-audio`. Each is a line with a JSON object whose only member is the
/// message's name.
package enum AudioEngineLine {
    /// Maximum bytes of a line, without its end. A plan with 64 sessions has about 40 KiB.
    package static let maximumBytes = 256 << 10

    /// The request as a line.
    package static func encoded(_ request: AudioEngineRequest) -> [UInt8] { controlLine(request) }

    /// The report as a line.
    package static func encoded(_ report: AudioEngineReport) -> [UInt8] { controlLine(report) }

    /// - Parameter line: without its line end.
    package static func request(_ line: [UInt8]) throws(AudioEngineLineError) -> AudioEngineRequest {
        try read(line, names: ["prepare", "apply", "chooseOutput", "wokeFromSleep"])
    }

    /// - Parameter line: without its line end.
    package static func report(_ line: [UInt8]) throws(AudioEngineLineError) -> AudioEngineReport {
        try read(
            line,
            names: [
                "ready", "effects", "connected", "unavailable", "lost", "applied", "refused", "outputChosen",
                "routeChanged",
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
            // A session's configuration that isn't valid.
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

    /// The names of an object's members.
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

/// Splits bytes into the lines of ``AudioEngineLine``.
package typealias AudioEngineLines = LineSplitter<AudioEngineLineError>

extension AudioEngineLines {
    package init() { self.init(maximumBytes: AudioEngineLine.maximumBytes, tooLong: .tooLong) }
}
