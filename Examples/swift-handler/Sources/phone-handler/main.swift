// A call handler in Swift, without the media.
//
//     phone-handler                        started by ringwaked for a call; exits after its last call
//     phone-handler --stay APP [SOCKET]    runs all the time, and handles every call of the app
//     phone-handler --call APP TO [SOCKET] calls somebody, handles that call, and exits after it
import CallHandling
import Glibc
import RingwakeKit

let words = Array(CommandLine.arguments.dropFirst())
let (stays, calls) = (words.first == "--stay", words.first == "--call" && words.count > 2)
let configuration: RingwakeClient.Configuration =
    (stays && words.count > 1) || calls
    ? .init(app: words[1], socketPath: words.dropFirst(calls ? 3 : 2).first) : try .fromEnvironment()
let client = try RingwakeClient(configuration)
let handler = CallHandler(client: client, line: QuietLine(), stays: stays, log: say)
do {
    if calls { say("calls \(words[2]): \(try await handler.call(words[2]))") }
} catch {
    say("not called: \(error)")
    exit(1)
}
await handler.run()
client.close()
