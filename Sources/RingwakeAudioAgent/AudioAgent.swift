internal import CRingwakeLinux
internal import CallAudio
internal import ControlProtocol
internal import Glibc
internal import LogOutput
internal import Logging
internal import RunLoop

/// The program that holds the connection to a user's audio server, and undoes its changes there.
package enum AudioAgent {
    /// Runs `ringwake-audio` with the process's arguments and returns its exit status.
    package static func main() -> Int32 {
        // A write to a closed log must not end the program and leave the audio server changed.
        ringwake_ignore_signal(SIGPIPE)
        // libpulse would ask the X server for the name of an audio server, and wait for its answer.
        unsetenv("DISPLAY")
        switch AgentCommand.parse(Array(CommandLine.arguments.dropFirst())) {
        case .show(let text):
            print(text, terminator: "")
            return 0
        case .wrongUsage(let problem):
            StandardErrorLog(level: .info, environment: [:]).report("ringwake-audio: \(problem)")
            return 2
        case .run(let command):
            return run(command)
        }
    }

    private static func run(_ command: AgentCommand) -> Int32 {
        let environment = processEnvironment()
        let log = StandardErrorLog(level: command.isVerbose ? .debug : .notice, environment: environment)
        let runLoop: RunLoop
        do throws(RunLoopError) {
            // Don't wake the machine from suspend: the daemon does that for calls.
            runLoop = try RunLoop(wakingFromSuspend: false)
        } catch {
            log.report("ringwake-audio: no event loop: \(error); raise the limit on open files")
            return 1
        }
        let logger = Logger(label: "ringwake-audio") { _ in log }
        let parts = AudioEngineParts(
            environment: environment, runLoop: runLoop, logger: logger, version: ProductVersion.current)
        guard let journal = command.journal ?? EffectJournals.standard(environment) else {
            log.report("ringwake-audio: neither XDG_STATE_HOME nor HOME is set; name a file with --journal")
            return 1
        }
        var status: Int32 = 0
        let stop = { (end: Int32) in
            status = end
            runLoop.stop()
        }
        do throws(AgentRefusal) {
            let end = try begin(command, parts, log, journal: journal, stop)
            try onTermination(runLoop, end)
        } catch {
            log.report("ringwake-audio: \(error.message)")
            return error.status
        }
        runLoop.run()
        return status
    }

    /// - Returns: A function that ends it.
    private static func begin(
        _ command: AgentCommand, _ parts: AudioEngineParts, _ log: StandardErrorLog, journal: String,
        _ stop: @escaping (Int32) -> Void
    ) throws(AgentRefusal) -> () -> Void {
        switch command.source {
        case .descriptor(let descriptor):
            try AgentSocket.checkConnected(descriptor)
            return AgentLife(descriptor, parts, journal: journal, completion: stop).end
        case .listener:
            let descriptor = try AgentSocket.passedListener()
            let allowed = try AgentSocket.users(command.allowed)
            return AgentListener(descriptor, parts, journal: journal, allowed: allowed, completion: stop).end
        case .journals:
            let paths = command.journal.map { [$0] } ?? parts.knownJournals
            return JournalRestore(paths, parts) { result in
                report(result, log)
                stop(result.isComplete ? 0 : 1)
            }.end
        }
    }

    private static func report(_ result: JournalRestore.Result, _ log: StandardErrorLog) {
        if result.mended > 0 { log.report("put back: \(result.mended)") }
        for path in result.inUse { log.report("\(path): in use by a program that runs, which puts back itself") }
        for (path, why) in result.left.sorted(by: { $0.key < $1.key }) {
            log.report(
                "\(path): not all was put back: \(why); run 'ringwake-audio --mend' when the audio server is there")
        }
    }

    private static func onTermination(_ runLoop: RunLoop, _ end: @escaping () -> Void) throws(AgentRefusal) {
        do throws(RunLoopError) {
            for signal in [SIGTERM, SIGINT, SIGHUP] { try runLoop.onSignal(signal, end) }
        } catch {
            throw AgentRefusal(1, "signals cannot be waited for: \(error)")
        }
    }
}
