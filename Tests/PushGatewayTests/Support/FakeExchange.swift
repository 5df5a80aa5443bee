import FoundationEssentials
import HTTPServer

/// An exchange that keeps its answer and, as the real ones, ignores a second one or one that comes too late.
final class FakeExchange: HTTPExchange {
    private(set) var response: HTTPResponse?
    private(set) var isOpen = true
    var onClose: (() -> Void)?

    func respond(_ response: HTTPResponse) {
        guard isOpen else { return }
        self.response = response
        isOpen = false
    }

    /// The sender leaves.
    func disconnect() {
        isOpen = false
        onClose?()
    }

    func beginStream(status: Int, fields: [HTTPField]) {}
    func send(_ bytes: [UInt8]) -> Bool { false }
    func finish() {}

    /// Whether the stream was reset.
    private(set) var isAborted = false
    /// Why the connection ends.
    private(set) var endOfConnection: String?

    func abort() {
        isAborted = true
        isOpen = false
    }

    func endConnection(reason: String) { endOfConnection = reason }

    var status: Int? { response?.status }

    /// The `reason` of the answer; "200" for a success, "none" before there is one.
    var reason: String {
        guard let response else { return "none" }
        guard response.status != 200 else { return "200" }
        return (try? JSONDecoder().decode(Refused.self, from: Data(response.body)))?.reason ?? "undecodable"
    }

    var timestamp: Int64? {
        guard let response else { return nil }
        return (try? JSONDecoder().decode(Refused.self, from: Data(response.body)))?.timestamp
    }

    func field(_ name: String) -> String? {
        response?.fields.first { $0.name == name }?.value
    }

    private nonisolated struct Refused: Decodable {
        let reason: String
        let timestamp: Int64?
    }
}
