// A call handler around the SIP client baresip.
//
//     baresip-handler FOLDER                        started by ringwaked for a call; exits after its last call
//     baresip-handler --stay FOLDER APP [SOCKET]    runs all the time, with a baresip that registers when a push arrives
//
// FOLDER has baresip's `config` and `accounts`; README.md explains them.
import Baresip
import CallHandling
import Glibc
import RingwakeKit

var words = Array(CommandLine.arguments.dropFirst())
let stays = words.first == "--stay"
if stays { words.removeFirst() }
guard let folder = words.first else {
    say("usage: baresip-handler [--stay] FOLDER [APP [SOCKET]]")
    exit(2)
}
// Do not wait for a client that has ended.
signal(SIGCHLD, SIG_IGN)
let configuration: RingwakeClient.Configuration =
    words.count > 1 ? .init(app: words[1], socketPath: words.dropFirst(2).first) : try .fromEnvironment()
let line = try BaresipLine(folder: folder, stays: stays)

onTermination {
    // At SIGTERM it ends the client too.
    await line.leave()
    exit(128 + SIGTERM)
}
if stays { try await line.prepare() }
let client = try RingwakeClient(configuration)
await CallHandler(client: client, line: line, stays: stays, log: say).run()
client.close()
await line.leave()
