internal import Database
internal import FileSystem
internal import RingwakeCore

/// Copies the store into a file on the journal's thread, in small steps between which a push waits for at most one. It
/// belongs to one store.
nonisolated final class CopyWorker {
    private let store: Store
    private let mailbox: JournalMailbox
    /// Pages of one step.
    private let step: Int32
    private var copy: OnlineCopy?
    /// The number of the request, and the percentage that was reported last.
    private var number: UInt64 = 0
    private var reported = -1

    init(store: Store, mailbox: JournalMailbox, limits: JournalLimits) {
        self.store = store
        self.mailbox = mailbox
        step = Int32(clamping: limits.copyStep)
    }

    /// Begins a copy in an empty file.
    func start(_ path: String, number: UInt64) {
        self.number = number
        do throws(SQLiteFailure) {
            let needed = try store.connection.size(.store)
            let free = FileSystem.freeBytes(of: FileSystem.split(path).directory) ?? .max
            guard free > needed else {
                return end(.failure(StoreError.noRoomToCopy(path, needed: needed, free: free)))
            }
            copy = try OnlineCopy(of: store.connection, to: path)
            reported = -1
        } catch {
            end(.failure(StoreError.of(error, path: path)))
        }
    }

    /// The copy is not wanted any more.
    func cancel() { copy = nil }

    /// Takes one step.
    /// - Returns: false if there is nothing to copy.
    func work() -> Bool {
        guard copy != nil else { return false }
        do throws(SQLiteFailure) {
            if let percent = try percentAfterStep() {
                if percent != reported { mailbox.answer([.copying(number: number, percent: percent)]) }
                reported = percent
            } else {
                end(.success(()))
            }
        } catch {
            end(.failure(StoreError.of(error, path: store.path)))
        }
        return true
    }

    /// - Returns: nil after the last step. No reference to the copy is left then: its end closes the file.
    private func percentAfterStep() throws(SQLiteFailure) -> Int? {
        guard let copy, try copy.step(pages: step) else { return nil }
        return 100 - copy.remainingPages * 100 / max(copy.allPages, 1)
    }

    /// The store is closed, or replaced.
    func close() {
        guard copy != nil else { return }
        end(.failure(RingwakeError(.failed, "\(store.path) was closed before all of it was copied; try again.")))
    }

    private func end(_ result: Result<Void, RingwakeError>) {
        // Closes the file, which the client opens as soon as it has the answer.
        copy = nil
        mailbox.answer([.copied(number: number, result)])
    }
}
