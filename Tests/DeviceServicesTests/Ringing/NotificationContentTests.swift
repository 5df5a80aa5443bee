import Glibc
import Testing

@testable import DeviceServices

@Suite("What notifications say") struct NotificationContentTests {
    @Test("A stranger's text stays on its line, in its direction, and visible")
    func cleaned() {
        #expect(ShownLine.clean("  Anna \t\n Müller\r\n") == "Anna Müller")
        #expect(ShownLine.clean("Anna\u{2028}Bank\u{2029}\u{0}\u{1B}[31m") == "Anna Bank [31m")
        #expect(ShownLine.clean("\u{202E}knaB\u{202C}\u{2066}x\u{2069}\u{200F}\u{FEFF}\u{AD}") == "knaBx")
        #expect(ShownLine.clean("A\u{E0041}\u{E007F}B") == "AB")
        #expect(ShownLine.clean("<b>Anna</b> & 'co'") == "<b>Anna</b> & 'co'")
        // A family is one picture, by joiners; so are letters of Persian.
        #expect(ShownLine.clean("👨‍👩‍👧 می‌خواهم") == "👨‍👩‍👧 می‌خواهم")
    }

    @Test(
        "Nothing to see is no text",
        arguments: ["", "   ", "\u{0}\u{1}", "\u{202E}\u{200D}\u{200C}", "\u{3164}", "\u{FE0F}"])
    func blank(_ text: String) {
        #expect(ShownLine.clean(text) == nil)
    }

    @Test("A text is cut, however long and however odd")
    func cut() {
        #expect(ShownLine.clean(String(repeating: "a", count: 1_000_000))?.utf8.count == 256)
        #expect(
            ShownLine.clean("a" + String(repeating: "\u{301}", count: 1_000_000)).map { $0.utf8.count <= 256 } == true)
        #expect(ShownLine.clean(String(repeating: "\u{202E}", count: 5_000) + "a") == nil)
    }

    @Test("Markup is escaped for a server that reads it, and only there")
    func markup() throws {
        let content = NotificationContent(
            of: try makeCall(title: "<i>A</i>", detail: "<b>B&B</b> \"'", hasVideo: true), isSilent: false)
        #expect(content.summary == "<i>A</i>")
        #expect(content.text(isMarkup: false) == "Incoming video call\n<b>B&B</b> \"'")
        #expect(content.text(isMarkup: true) == "Incoming video call\n&lt;b&gt;B&amp;B&lt;/b&gt; &quot;&#39;")
    }

    @Test("A missed call says when it came, with the date when that was not today")
    func missed() throws {
        let noon: Int64 = 1_700_000_000
        let today = NotificationContent(ofMissed: try makeCall(title: "\u{0}"), at: noon, now: noon + 1)
        #expect(today.summary == "Missed call")
        #expect(today.body.count == 2)
        #expect(today.body.first == "Unknown caller")
        #expect(today.body.last.map { $0.utf8.count } == 5)
        let later = NotificationContent(
            ofMissed: try makeCall(detail: "+49 30 1", hasVideo: true), at: noon, now: noon + 3 * 86_400)
        #expect(later.summary == "Missed video call")
        #expect(later.body.first == "Anna")
        #expect(later.body.dropFirst().first == "+49 30 1")
        #expect(later.body.last.map { $0.hasPrefix("2023-11-1") && $0.utf8.count == 16 } == true)
        #expect(later.actions.isEmpty)
        for odd in [Int64.min, .max, -1, 0] {
            #expect(NotificationContent(ofMissed: try makeCall(), at: odd, now: noon).body.first == "Anna")
        }
    }

    @Test(
        "The time is that of the machine's clock on the wall", arguments: [0, 59, 3_600, 1_700_000_000, 1_800_000_000])
    func wallTime(_ seconds: Int64) throws {
        var time = time_t(seconds)
        var parts = tm()
        try #require(localtime_r(&time, &parts) != nil)
        var expected = [CChar](repeating: 0, count: 32)
        try #require(strftime(&expected, 32, "%H:%M", &parts) == 5)
        let text = expected.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
        #expect(WallTime.text(seconds, now: seconds) == text)
    }
}
