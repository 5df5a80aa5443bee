@testable import ControlProtocol

/// What keeps calls out: do not disturb, and lists of callers.
enum ScreeningSamples {
    static let all: [(path: String, message: any Encodable & Sendable)] = [
        ("DoNotDisturbMessage/on", on), ("DoNotDisturbMessage/scheduled", scheduled),
        ("DoNotDisturbChange/until", DoNotDisturbChange(state: "on", until: "2026-11-22T06:00:00.000Z")),
        ("DoNotDisturbChange/all", change), ("CallerListMessage/imported", imported),
        ("CallerListMessage/own", own), ("CallerListsMessage/two", CallerListsMessage(lists: [own, imported])),
        ("CallerEntriesMessage/page", entries), ("CallerCheckMessage/blocked", blocked),
        (
            "CallerCheckMessage/identified",
            CallerCheckMessage(
                caller: "+4989123456", rings: true, list: "known", pattern: "+4989123456", identifiedAs: "Dr. Bauer")
        ),
        ("CallerListCreation/identify", CallerListCreation(kind: "identify")),
        (
            "CallerListChange/both",
            CallerListChange(
                add: [
                    CallerEntryMessage(pattern: "+49900*", label: "premium rate"),
                    CallerEntryMessage(pattern: "anonymous"),
                ],
                remove: ["*@spam.example"])
        ),
        ("CallerListCreation/block", CallerListCreation(kind: "block")),
        ("ImportMessage/begun", ImportMessage(id: "17", list: "spam")),
        ("ImportMessage/going", ImportMessage(id: "17", list: "spam", entries: 1500)),
        ("ImportFinish/url", ImportFinish(etag: "\"5f-1\"", source: "https://lists.example/spam.csv")),
        ("ImportFinish/empty", ImportFinish()),
        ("RestrictionsMessage/none", RestrictionsMessage()), ("RestrictionsMessage/all", restrictions),
        ("CallerBlockMessage/blocked", CallerBlockMessage(blocked: true)),
    ]

    static let restrictions = RestrictionsMessage(
        doNotDisturb: .init(active: true, until: "2026-11-22T06:00:00.000Z"), rating: .init(name: "12+", number: 300),
        explicitContentAllowed: false, videoCallsAllowed: false)

    private static let on = DoNotDisturbMessage(
        state: "on", active: true, until: "2026-11-22T06:00:00.000Z", repeatWithinMs: 180_000,
        why: "on until 07:00")

    static let scheduled = DoNotDisturbMessage(
        state: "scheduled", active: false, schedule: ["mon-fri 22:00-07:00", "sat,sun 00:00-24:00"],
        allowApps: ["com.example.doorbell"], allowCallers: ["+4989123456", "*@family.example"],
        why: "off until 22:00")

    static let change = DoNotDisturbChange(
        state: "off", schedule: ["daily 22:00-07:00"], repeatWithinMs: 0, allowApps: [],
        allowCallers: ["*@family.example"])

    static let imported = CallerListMessage(
        list: "spam", kind: "block", entries: 1500, source: "https://lists.example/spam.csv", etag: "\"5f-1\"",
        updatedAt: "2026-11-21T18:58:52.123Z")

    private static let own = CallerListMessage(list: "known", kind: "identify", entries: 0)

    static let entries = CallerEntriesMessage(
        list: "spam",
        entries: [
            CallerEntryMessage(pattern: "*@spam.example"),
            CallerEntryMessage(pattern: "+49900*", label: "premium rate"),
        ],
        next: "+49900*")

    static let blocked = CallerCheckMessage(
        caller: "+49900123456", rings: false, list: "spam", pattern: "+49900*", identifiedAs: "premium rate",
        restriction: RestrictionMessage(kind: "blocked", detail: "blocked by the list 'spam'"))
}
