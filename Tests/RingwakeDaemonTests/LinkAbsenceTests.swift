import RingwakeCore
import Testing

@testable import RingwakeDaemon

@MainActor @Suite("Whether a device's own absence may have ended its link") struct LinkAbsenceTests {
    private var absence = LinkAbsence()
    private func at(_ seconds: Int64) -> BootInstant { BootInstant(nanoseconds: 0).advanced(by: .seconds(seconds)) }

    @Test("Before the first link it is likely, and after it no more")
    mutating func start() {
        #expect(absence.isLikely)
        absence.linked()
        absence.ended(at: at(100))
        #expect(!absence.isLikely)
    }

    @Test(
        "A link that ends within ten minutes after a sleep died of it; later it did not",
        arguments: [(599, true), (600, false)])
    mutating func sleep(_ seconds: Int64, _ isLikely: Bool) {
        absence.linked()
        absence.resumed(at: at(1000))
        absence.ended(at: at(1000 + seconds))
        #expect(absence.isLikely == isLikely)
        absence.linked()
        #expect(!absence.isLikely)
    }
}
