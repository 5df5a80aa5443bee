import CallAudio

let session = try AudioSession(name: "Announcements")
session.onNotice { print("notice: \($0)") }
try session.setCategory(.playback, mode: .spokenAudio, options: [.duckOthers])
do {
    let route = try await session.setActive(true)
    print("active: \(route.outputs.map(\.name).joined(separator: ", "))")
    // Now this process and its children play at full volume; other sound is ducked.
    _ = readLine()
    try await session.setActive(false, notifyOthers: true)
    print("inactive")
} catch {
    print("not active: \(error.code.rawValue) (\(error.code.number)): \(error.message)")
}
