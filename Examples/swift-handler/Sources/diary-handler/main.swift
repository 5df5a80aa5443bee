// A handler that takes no call and keeps a diary of them in the daemon: the smallest use of StateRestoration.
//
//     diary-handler           started by ringwaked for a call; the app's file has [restoration] state = true
//     diary-handler --next    the same as a later version, which no longer understands all that this one stored
//     diary-handler --wait    waits while it restores: what a test kills there has crashed while restoring
import CallHandling
import RingwakeKit

struct Counter: Codable, Sendable {
    var calls = 0
}

struct Entry: Codable, Sendable {
    var call: String
}

/// What the later version made of ``Entry``, which the former ones don't fit.
struct DatedEntry: Codable, Sendable {
    var call: String
    var attempt: Int
}

struct Mood: Codable, Sendable {
    var isGood = true
}

let words = CommandLine.arguments.dropFirst()
let isNext = words.contains("--next")
let waits = words.contains("--wait")
let client = try RingwakeClient(.fromEnvironment())
let (registry, provider) = (PushRegistry(client: client), CallProvider(client: client))
// The names of the classes stay, whatever becomes of the types.
let restoration = try StateRestoration(
    client: client,
    classes: isNext
        ? [.init("counter", Counter.self), .init("entry", DatedEntry.self)]
        : [.init("counter", Counter.self), .init("entry", Entry.self), .init("mood", Mood.self)],
    version: isNext ? 2 : 1)

/// Restores the diary, adds the call of a push, and stores it.
@Sendable func remember(_ push: IncomingPush) async throws {
    var objects: [String: any Codable & Sendable] = [:]
    // The later version has no draft any more.
    try await restoration.restore(knowing: { !isNext || $0 != "draft" }) { diary in
        for name in diary.identifiers { say("restored: \(name)") }
        for object in diary.leftOut { say("left out: \(object)") }
        for (name, counter) in diary.objects(of: Counter.self) { objects[name] = counter }
        for (name, entry) in diary.objects(of: Entry.self) { objects[name] = entry }
        for (name, mood) in diary.objects(of: Mood.self) { objects[name] = mood }
        say("restoring: \(diary.identifiers.count) of version \(diary.version ?? 0)")
        if waits { try await Task.sleep(for: .seconds(60)) }
    }
    var counter = objects["counter"] as? Counter ?? Counter()
    counter.calls += 1
    objects["counter"] = counter
    if isNext {
        objects["entry \(push.call)"] = DatedEntry(call: push.call.rawValue, attempt: push.attempt)
    } else {
        objects["entry \(push.call)"] = Entry(call: push.call.rawValue)
        objects["draft"] = Entry(call: "")
        objects["mood"] = Mood()
    }
    try await restoration.save(objects)
    say("stored: \(counter.calls)")
}

for await event in registry.events {
    guard case .incomingPush(let push) = event else { continue }
    do { try await remember(push) } catch { say("no diary: \(error)") }
    do {
        try await provider.reportCall(with: push.call, endReason: .unanswered)
        say("ended: \(push.call)")
    } catch {
        say("not ended: \(error)")
    }
    break
}
client.close()
