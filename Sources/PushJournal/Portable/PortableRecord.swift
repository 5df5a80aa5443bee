internal import FoundationEssentials
internal import RingwakeCore

/// One line of an export. Unknown kinds and members are skipped, so that a later version may add some.
nonisolated enum PortableRecord: Decodable {
    case header(schema: Int)
    case call(Call)
    case payload(Payload)
    case push(Push)
    case state(State)
    case list(List)
    case listEntry(ListEntry)
    case device(Device)
    case mail(Mail)
    case end(records: Int64)
    case unknown

    struct Call: Decodable {
        let number: Int64
        let app: String
        let id: String
        let sender: String
        let received_ms: Int64
        let state: String
        let version: Int64
        /// Nil if its row in the store was damaged.
        let facts: CallSnapshot?
    }

    struct Payload: Decodable {
        let call: Int64
        let push: Int64
        /// Nil if it could not be read when the export was made.
        let data: String?
    }

    struct Push: Decodable {
        let id: String
        let app: String
        let topic: String
        let environment: String
        let sender: String
        let priority: Int64
        let collapse_id: String?
        let call: String
        let outcome: String
        let received_ms: Int64
        let journaled_ns: Int64?
    }

    /// A record with bytes, as an object or in Base64.
    protocol WithBytes {
        var json: JSONValue? { get }
        var data: String? { get }
    }

    struct State: Decodable, WithBytes {
        let path: String
        let version: Int64
        let written_ms: Int64
        let json: JSONValue?
        let data: String?
    }

    struct List: Decodable {
        let name: String
        let type: String
        let source: String?
        let etag: String?
        let updated_ms: Int64
    }

    struct ListEntry: Decodable {
        let list: String
        /// Nil if the entry could not be read when the export was made.
        let pattern: String?
        let label: String?
    }

    struct Device: Decodable, WithBytes {
        let id: String
        let version: Int64
        let json: JSONValue?
        let data: String?
    }

    struct Mail: Decodable, WithBytes {
        let device: String
        let run: String
        let sequence: String
        let received_ms: Int64
        let version: Int64
        let payload: String
        let facts: JSONValue?
        let data: String?
        var json: JSONValue? { facts }
    }

    private enum CodingKeys: String, CodingKey {
        case kind, schema, records
    }

    init(from decoder: any Decoder) throws {
        let line = try decoder.container(keyedBy: CodingKeys.self)
        switch try line.decode(String.self, forKey: .kind) {
        case "header": self = .header(schema: try line.decode(Int.self, forKey: .schema))
        case "call": self = .call(try Call(from: decoder))
        case "payload": self = .payload(try Payload(from: decoder))
        case "push": self = .push(try Push(from: decoder))
        case "state": self = .state(try State(from: decoder))
        case "list": self = .list(try List(from: decoder))
        case "list_entry": self = .listEntry(try ListEntry(from: decoder))
        case "device": self = .device(try Device(from: decoder))
        case "mail": self = .mail(try Mail(from: decoder))
        case "end": self = .end(records: try line.decode(Int64.self, forKey: .records))
        default: self = .unknown
        }
    }
}

nonisolated extension PortableRecord.WithBytes {
    /// The bytes; nil if the record has none.
    var bytes: [UInt8]? {
        if let data { return PortableRecord.bytes(data) }
        return json?.bytes
    }
}

nonisolated extension PortableRecord {
    /// Base64; nil if it is none.
    static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
}
