internal import RingwakeCore

/// The completions that wait for an answer of the journal's thread, and the amount of their work.
struct WaitingWork {
    /// A completion that is called once.
    private enum Completion {
        case push((Result<PushVerdict, RingwakeError>) -> Void, bytes: Int)
        case ring((Result<RingVerdict, RingwakeError>) -> Void)
        case kept((Result<Void, RingwakeError>) -> Void, bytes: Int)
        case list((Result<ListAnswer, RingwakeError>) -> Void, entries: Int)
        case pushes((Result<[JournaledPush], RingwakeError>) -> Void)
        case calls((Result<[JournaledCall], RingwakeError>) -> Void)
        case mail((Result<MailPayloads, RingwakeError>) -> Void)
        case report((Result<StoreReport, RingwakeError>) -> Void)
        case protected((Result<ProtectedRows, RingwakeError>) -> Void)
    }

    private var completions: [UInt64: Completion] = [:]
    private var lastTicket: UInt64 = 0
    /// The waiting pushes, the bytes of their payloads, and the waiting reads.
    private(set) var pushes = 0
    private(set) var bytes = 0
    private(set) var reads = 0
    /// The waiting rows of state, and their bytes.
    private(set) var states = 0
    private(set) var stateBytes = 0
    /// The waiting requests on lists of callers, and their entries.
    private(set) var lists = 0
    private(set) var listEntries = 0

    /// Whether no completion needs a prompt answer of the disk. Requests on lists are excluded: they are processed
    /// while nothing else waits, and building an index may take long.
    var isEmpty: Bool { completions.count == lists }

    mutating func addPush(bytes: Int, _ completion: @escaping (Result<PushVerdict, RingwakeError>) -> Void) -> UInt64 {
        pushes += 1
        self.bytes += bytes
        return add(.push(completion, bytes: bytes))
    }

    mutating func addRing(_ completion: @escaping (Result<RingVerdict, RingwakeError>) -> Void) -> UInt64 {
        add(.ring(completion))
    }

    mutating func addState(bytes: Int, _ completion: @escaping (Result<Void, RingwakeError>) -> Void) -> UInt64 {
        states += 1
        stateBytes += bytes
        return add(.kept(completion, bytes: bytes))
    }

    mutating func addList(
        entries: Int, _ completion: @escaping (Result<ListAnswer, RingwakeError>) -> Void
    ) -> UInt64 {
        lists += 1
        listEntries += entries
        return add(.list(completion, entries: entries))
    }

    mutating func addRead(_ completion: @escaping (Result<[JournaledPush], RingwakeError>) -> Void) -> UInt64 {
        reads += 1
        return add(.pushes(completion))
    }

    mutating func addRead(_ completion: @escaping (Result<[JournaledCall], RingwakeError>) -> Void) -> UInt64 {
        reads += 1
        return add(.calls(completion))
    }

    mutating func addRead(_ completion: @escaping (Result<MailPayloads, RingwakeError>) -> Void) -> UInt64 {
        reads += 1
        return add(.mail(completion))
    }

    mutating func addRead(_ completion: @escaping (Result<StoreReport, RingwakeError>) -> Void) -> UInt64 {
        reads += 1
        return add(.report(completion))
    }

    mutating func addRead(_ completion: @escaping (Result<ProtectedRows, RingwakeError>) -> Void) -> UInt64 {
        reads += 1
        return add(.protected(completion))
    }

    private mutating func add(_ completion: Completion) -> UInt64 {
        lastTicket += 1
        completions[lastTicket] = completion
        return lastTicket
    }

    /// Removes the completion for `answer`.
    /// - Returns: a closure that calls it; nil if there is none.
    mutating func take(_ answer: JournalAnswer) -> (() -> Void)? {
        switch answer {
        case .push(let ticket, let result):
            guard case .push(let completion, _) = remove(ticket) else { return nil }
            return { completion(result) }
        case .ring(let ticket, let result):
            guard case .ring(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .kept(let ticket, let result):
            guard case .kept(let completion, _) = remove(ticket) else { return nil }
            return { completion(result) }
        case .list(let ticket, let result):
            guard case .list(let completion, _) = remove(ticket) else { return nil }
            return { completion(result) }
        case .pushes(let ticket, let result):
            guard case .pushes(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .calls(let ticket, let result):
            guard case .calls(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .mail(let ticket, let result):
            guard case .mail(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .report(let ticket, let result):
            guard case .report(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .protected(let ticket, let result):
            guard case .protected(let completion) = remove(ticket) else { return nil }
            return { completion(result) }
        case .migrating, .copying, .copied, .rekeyed, .found, .opened, .committed, .untidy, .unreadable,
            .droppedCalls, .droppedStates, .replaced, .gaveWay, .setAside, .ended:
            return nil
        }
    }

    /// Removes all completions, in the order of their requests.
    /// - Returns: closures that call them with the failure.
    mutating func takeAll(failing error: RingwakeError) -> [() -> Void] {
        completions.keys.sorted().compactMap { ticket in
            switch remove(ticket) {
            case .push(let completion, _): { completion(.failure(error)) }
            case .ring(let completion): { completion(.failure(error)) }
            case .kept(let completion, _): { completion(.failure(error)) }
            case .list(let completion, _): { completion(.failure(error)) }
            case .pushes(let completion): { completion(.failure(error)) }
            case .calls(let completion): { completion(.failure(error)) }
            case .mail(let completion): { completion(.failure(error)) }
            case .report(let completion): { completion(.failure(error)) }
            case .protected(let completion): { completion(.failure(error)) }
            case nil: nil
            }
        }
    }

    private mutating func remove(_ ticket: UInt64) -> Completion? {
        let completion = completions.removeValue(forKey: ticket)
        switch completion {
        case .push(_, let bytes):
            pushes -= 1
            self.bytes -= bytes
        case .kept(_, let bytes):
            states -= 1
            stateBytes -= bytes
        case .list(_, let entries):
            lists -= 1
            listEntries -= entries
        case .pushes, .calls, .mail, .report, .protected:
            reads -= 1
        case .ring, nil:
            break
        }
        return completion
    }
}
