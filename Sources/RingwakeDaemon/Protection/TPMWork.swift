internal import Cryptography
internal import DataProtection
internal import RingwakeCore
internal import RunLoop

/// Asks the TPM, one thing at a time, and keeps those who wait for what comes of it.
final class TPMWork {
    private let runLoop: RunLoop
    private var work: SlowWork<OpenedSource>?
    private var waiting: [(Result<Void, RingwakeError>) -> Void] = []

    init(runLoop: RunLoop) {
        self.runLoop = runLoop
    }

    /// Whether somebody waits.
    var isAwaited: Bool { !waiting.isEmpty }

    /// Opens the key of a file of keys, unless the TPM is asked already.
    ///
    /// - Parameters:
    ///   - former: nil: makes a new key, for the keys that are there or for new ones.
    ///   - completion: called on the loop.
    func ask(_ former: ProtectionFile?, completion: @escaping (Result<OpenedSource, RingwakeError>) -> Void) {
        guard work == nil else { return }
        TPM.prepare()
        do throws(RingwakeError) {
            work = try SlowWork(
                "tpm", on: runLoop, { () throws(RingwakeError) in try OpenedSource(ofTPM: former) },
                completion: { [weak self] result in
                    self?.work = nil
                    completion(result)
                })
        } catch {
            completion(.failure(error))
        }
    }

    /// Calls this when it is known what came of it.
    func wait(_ completion: @escaping (Result<Void, RingwakeError>) -> Void) { waiting.append(completion) }

    /// Tells those who wait.
    func answer(_ result: Result<Void, RingwakeError>) {
        let waiting = waiting
        self.waiting = []
        for completion in waiting { completion(result) }
    }

    func cancel() { work?.cancel() }
}
