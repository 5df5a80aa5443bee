internal import FoundationEssentials
package import RingwakeCore

/// The bodies of requests.
package enum ControlBody {
    /// Decodes the body; returns `empty` if there is none.
    ///
    /// - Throws: `invalidRequest`, with what is wrong.
    package static func decode<Message: Decodable>(
        _ type: Message.Type, from body: [UInt8], empty: Message?
    ) throws(RingwakeError) -> Message {
        if body.isEmpty, let empty {
            return empty
        }
        // `JSONDecoder` accepts more than JSON, and its error messages are its own.
        do throws(JSONSyntax.Defect) {
            try JSONSyntax.requireObject(body)
        } catch {
            throw RingwakeError(.invalidRequest, "the body has to be one JSON object: \(error)")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw RingwakeError(.invalidRequest, "the body does not fit this request: \(why(error))")
        }
    }

    /// Which member of a JSON object isn't valid, and what it has to be.
    private static func why(_ error: any Error) -> String {
        switch error as? DecodingError {
        case .keyNotFound(let key, _):
            return "'\(key.stringValue)' is missing"
        case .valueNotFound(let type, let context), .typeMismatch(let type, let context):
            let name = context.codingPath.map(\.stringValue).joined(separator: ".")
            let kind =
                type == String.self
                ? "a text" : type == Bool.self ? "true or false" : "of another kind; see Documentation/control-api.yaml"
            return "'\(name)' has to be \(kind)"
        case .dataCorrupted, nil:
            return "it holds a value that cannot be read"
        @unknown default:
            return "it holds a value that cannot be read"
        }
    }
}
