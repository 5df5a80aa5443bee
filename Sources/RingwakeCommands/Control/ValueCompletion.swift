import ArgumentParser
import ControlProtocol
import Glibc
import RingwakeCore

/// Values that a shell offers for an argument: the command asks the daemon. Without a daemon it offers none, and prints
/// no error.
extension CompletionKind {
    /// Ids of the calls that `verb` fits; nil: of all calls.
    static func calls(_ verb: CallVerb?) -> CompletionKind {
        values { client throws(RingwakeError) in
            let list: CallListMessage = try client.get(RequestTarget("calls"))
            return list.calls.filter { call in verb.map { CallChoice.Fit($0).includes(call) } ?? true }.map(\.call)
        }
    }

    /// Ids of the latest pushes.
    static var pushes: CompletionKind {
        values { client throws(RingwakeError) in
            let list: PushListMessage = try client.get(RequestTarget("pushes"))
            return list.pushes.map(\.pushId)
        }
    }

    /// Bundle ids of the apps.
    static var apps: CompletionKind { values { client throws(RingwakeError) in try apps(client).map(\.app) } }

    /// Teams that may push to the apps.
    static var teams: CompletionKind {
        values { client throws(RingwakeError) in Set(try apps(client).flatMap(\.teams)).sorted() }
    }

    /// `any`, and the targets of the apps.
    static var targets: CompletionKind {
        values { client throws(RingwakeError) in
            let known = try apps(client).flatMap { $0.connection?.targets ?? [] }.map(\.target)
            return ["any"] + Set(known).subtracting(["any"]).sorted()
        }
    }

    /// Kinds of outputs, and the audio server's names of the outputs that are there.
    static var outputs: CompletionKind {
        values(always: AudioOutputName.words) { client throws(RingwakeError) in
            let status: AudioStatusMessage = try client.get(RequestTarget("audio"))
            return (status.route?.outputs ?? []).compactMap(\.device)
        }
    }

    /// Names of the devices that are linked to this gateway.
    static var linkedDevices: CompletionKind {
        values { client throws(RingwakeError) in
            let list: LinkedDeviceListMessage = try client.get(RequestTarget("gateway", "devices"))
            return list.devices.filter { $0.state != "revoked" }.map(\.name)
        }
    }

    /// Names of the lists of callers.
    static var lists: CompletionKind {
        values { client throws(RingwakeError) in
            let lists: CallerListsMessage = try client.get(RequestTarget("lists"))
            return lists.lists.map(\.list)
        }
    }

    /// Callers that ring during do not disturb.
    static var allowedCallers: CompletionKind {
        values { client throws(RingwakeError) in
            let state: DoNotDisturbMessage = try client.get(RequestTarget("dnd"))
            return state.allowCallers
        }
    }

    /// How long a shell waits for the daemon at most: a person waits for the shell.
    private static let timeout = Duration.seconds(1)

    private static func apps(_ client: ControlClient) throws(RingwakeError) -> [AppMessage] {
        let list: AppListMessage = try client.get(RequestTarget("apps"))
        return list.apps
    }

    /// - Parameters:
    ///   - always: values that need no daemon.
    ///   - ask: gets the values from the daemon. If it fails, there are only `always`.
    private static func values(
        always: [String] = [], _ ask: @escaping @Sendable (ControlClient) throws(RingwakeError) -> [String]
    ) -> CompletionKind {
        .custom { words, _, _ in
            var client = ControlOptions.client(
                of: socket(in: words), environment: ProcessEnvironment.variable, userID: geteuid())
            client.timeout = timeout
            let found: [String]
            do throws(RingwakeError) {
                found = try ask(client)
            } catch {
                // A shell shows errors in the middle of what the user types.
                found = []
            }
            return (always + found).filter { !$0.isEmpty && !$0.unicodeScalars.contains(where: \.isUnsafeToShow) }
        }
    }

    /// The value of `--socket` in a command line that is still being typed.
    private static func socket(in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if word == "--socket", !next.isEmpty { return next }
            if word.hasPrefix("--socket=") { return String(word.dropFirst("--socket=".count)) }
        }
        return nil
    }
}
