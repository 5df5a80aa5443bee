// Prints the state of the network and each change; with an argument, also the reachability of an address or host name.
//
//     swift run watch-path [TARGET]
import Reachability

let context = try ReachabilityContext()

// A target with a callback. The context's thread calls it, first with the current state.
let target = try CommandLine.arguments.dropFirst().first.flatMap { try ReachabilityMonitor($0, context: context) }
target?.onUpdate { [name = target?.target.description ?? ""] reachability in
    let why = reachability.unsatisfiedReason.map { ", because \($0.explanation)" } ?? ""
    print("\(name): \(reachability.flags.names.joined(separator: " "))\(why)")
}

// The path as a stream, which continues until the program is interrupted.
for await path in try PathMonitor(context: context).updates {
    let interfaces = path.interfaces.map { "\($0.name) (\($0.type.rawValue))" }.joined(separator: ", ")
    print("path: \(path.status.rawValue) \(interfaces)")
}
