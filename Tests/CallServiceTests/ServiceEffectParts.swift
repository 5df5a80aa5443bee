import ControlProtocol
import RingwakeCore

@testable import CallService

extension [ServiceEffect] {
    /// What the sender of a push is told, in each of these effects that answers one.
    var outcomes: [PushOutcome] {
        compactMap { if case .append(_, _, _, _, let answer, _) = $0 { answer } else { nil } }
    }

    /// The lines that go to the stream of this request.
    func lines(to request: UInt64) -> String {
        reduce(into: "") { text, effect in
            if case .send(RequestID(number: request), let bytes, _) = effect {
                text += String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
