// Prints the network's state and each change of it; with an argument, also the way to that address or host name.
//
//     swift run watch-path [TARGET]
import Reachability

let context = try ReachabilityContext()

// A target by callback. It is called on the context's thread, first with what is known now.
let target = try CommandLine.arguments.dropFirst().first.flatMap { try ReachabilityMonitor($0, context: context) }
target?.onUpdate { [name = target?.target.description ?? ""] reachability in
    let why = reachability.unsatisfiedReason.map { ", because \($0.explanation)" } ?? ""
    print("\(name): \(reachability.flags.names.joined(separator: " "))\(why)")
}

// The path by a stream, which goes on until the program is interrupted.
for await path in try PathMonitor(context: context).updates {
    let interfaces = path.interfaces.map { "\($0.name) (\($0.type.rawValue))" }.joined(separator: ", ")
    print("path: \(path.status.rawValue) \(interfaces)")
}
