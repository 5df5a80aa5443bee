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
        do {
            return try JSONDecoder().decode(Named<Message>.self, from: Data(line), configuration: names).message
        } catch let error as AudioEngineLineError {
            throw error
        } catch {
            throw .malformed("not one JSON object")
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

    /// A message whose name is known. One pass over the line: a call waits for it.
    private struct Named<Message: Decodable>: DecodableWithConfiguration {
        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { return nil }
        }

        let message: Message

        init(from decoder: any Decoder, configuration names: Set<String>) throws {
            let members = try decoder.container(keyedBy: Name.self).allKeys
            guard members.count == 1, let name = members.first?.stringValue else {
                throw AudioEngineLineError.malformed("an object of \(members.count) members")
            }
            guard names.contains(name) else { throw AudioEngineLineError.unknown(String(name.prefix(64))) }
            do {
                message = try Message(from: decoder)
            } catch let error as DecodingError {
                throw AudioEngineLineError.malformed("'\(name)': \(AudioEngineLine.reason(error))")
            } catch {
                // A session's configuration that isn't valid.
                throw AudioEngineLineError.malformed("'\(name)': \(error)")
            }
        }
    }
}

/// Splits bytes into the lines of ``AudioEngineLine``.
package typealias AudioEngineLines = LineSplitter<AudioEngineLineError>

extension AudioEngineLines {
    package init() { self.init(maximumBytes: AudioEngineLine.maximumBytes, tooLong: .tooLong) }
}
