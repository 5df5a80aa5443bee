internal import FileSystem
internal import Logging
internal import RingwakeCore
internal import RunLoop

/// Undoes the effects in journals that no program holds, one after the other.
///
/// The loop keeps it alive until it has completed.
package final class JournalRestore {
    /// The result.
    package struct Result: Equatable, Sendable {
        /// Effects that were undone.
        package var mended = 0
        /// Each journal that is left, and why, for a person.
        package var left: [String: String] = [:]
        /// Journals of running programs, which undo their own effects.
        package var inUse: [String] = []

        package var isComplete: Bool { left.isEmpty }
    }

    /// Timeout for one journal: connecting, undoing, and repairing what the server stores.
    private static let timeout = Duration.seconds(8)

    private let parts: AudioEngineParts
    private let isPatient: Bool
    private let completion: (Result) -> Void
    private var rest: ArraySlice<String>
    private var result = Result()
    private var engine: AudioEngine?
    private var timer: Timer?
    private var reason: String?
    private var isEnding = false

    /// - Parameters:
    ///   - paths: Missing files are skipped.
    ///   - isPatient: waits for a server that isn't there, until ``end()``.
    ///   - completion: Called once, from the loop.
    package init(
        _ paths: [String], _ parts: AudioEngineParts, isPatient: Bool = false,
        completion: @escaping (Result) -> Void
    ) {
        self.isPatient = isPatient
        rest = paths.filter { FileSystem.exists($0) }[...]
        self.parts = parts
        self.completion = completion
        parts.runLoop.enqueue { [self] in next() }
    }

    /// Ends early: what has not been undone stays in its journal.
    package func end() {
        isEnding = true
        if engine != nil { close() }
    }

    private func next() {
        guard let path = rest.first else { return completion(result) }
        guard !isEnding else {
            for path in rest { result.left[path] = "ended before it was looked at" }
            return completion(result)
        }
        do throws(EffectJournalError) {
            let engine = try parts.makeEngine(journal: path) { [weak self] in self?.take($0) }
            self.engine = engine
            if !isPatient { limit() }
            engine.start()
        } catch {
            if error.isInUse { result.inUse.append(path) } else { result.left[path] = error.description }
            rest.removeFirst()
            parts.runLoop.enqueue { [self] in next() }
        }
    }

    private func limit() {
        timer = parts.runLoop.schedule(
            at: parts.runLoop.refreshNow().advanced(by: JournalRestore.timeout), tolerance: .milliseconds(100)
        ) { [self] in
            reason = reason ?? "the audio server did not answer in time"
            close()
        }
    }

    private func take(_ report: AudioEngineReport) {
        switch report {
        case .ready(_, let mended):
            result.mended += mended
            // The reason why nothing could be undone is reported after this.
            if !isPatient { parts.runLoop.enqueue { [self] in close() } }
        case .connected: if isPatient { parts.runLoop.enqueue { [self] in close() } }
        case .unavailable(let why): reason = "no audio server: \(why)"
        case .lost(let why): reason = "the audio server went away: \(why)"
        case .problem(let what): parts.logger.warning("problem", metadata: ["what": "\(what)"])
        default: break
        }
    }

    private func close() {
        if let timer { parts.runLoop.cancel(timer) }
        timer = nil
        guard let engine else { return }
        self.engine = nil
        // The engine is kept until it has ended, and with it the lock of the journal.
        engine.close { [self] in
            withExtendedLifetime(engine) { closed() }
        }
    }

    private func closed() {
        guard let path = rest.popFirst() else { return }
        if FileSystem.exists(path) { result.left[path] = reason ?? "not everything could be put back" }
        reason = nil
        parts.runLoop.enqueue { [self] in next() }
    }
}
