package import RingwakeCore
internal import RunLoop

/// What waits for a copy of the store.
struct WaitingCopy {
    let progress: (Int) -> Void
    let completion: (Result<Void, RingwakeError>) -> Void
}

/// Copying the store while it is in use.
extension PushJournal {
    /// Copies the store into an empty file while pushes go on. The copy is what the store is when it is finished. It isn't
    /// synced.
    /// - Parameters:
    ///   - progress: called with the percentage, from the loop.
    ///   - completion: called later, from the loop. `inUse` if a copy is already being made.
    package func copy(
        to path: String, progress: @escaping (Int) -> Void, completion: @escaping (Result<Void, RingwakeError>) -> Void
    ) {
        guard !isClosed, waitingCopy == nil else {
            let error =
                isClosed
                ? closedError : RingwakeError(.inUse, "the store is being copied already; wait until that has ended.")
            return runLoop.enqueue { completion(.failure(error)) }
        }
        waitingCopy = WaitingCopy(progress: progress, completion: completion)
        submit(.copy(path))
    }

    /// Gives up the copy: `completion` isn't called. The file is worthless then.
    package func cancelCopy() {
        guard !isClosed, waitingCopy != nil else { return }
        waitingCopy = nil
        submit(.cancelCopy)
    }
}
