// A call handler in Swift, without the media.
//
//     phone-handler                        started by ringwaked for a call; exits after its last call
//     phone-handler --stay APP [SOCKET]    runs all the time, and handles every call of the app
import CallHandling
import RingwakeKit

let words = Array(CommandLine.arguments.dropFirst())
let stays = words.first == "--stay"
let configuration: RingwakeClient.Configuration =
    stays && words.count > 1
    ? .init(app: words[1], socketPath: words.dropFirst(2).first) : try .fromEnvironment()
let client = try RingwakeClient(configuration)
await CallHandler(client: client, line: QuietLine(), stays: stays, log: say).run()
client.close()
