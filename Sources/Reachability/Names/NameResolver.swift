internal import RunLoop

/// Finds the addresses of host names by `getaddrinfo`, on threads of its own.
///
/// Not c-ares, which knows DNS only: what nsswitch.conf(5) names (files, mDNS, resolved with its policies) would be
/// left out, and a name would be judged otherwise than the program sees that connects to it. Not `getaddrinfo_a`,
/// whose threads cannot be named, sized or stopped, and stay. The threads here (at most four) are started on demand
/// and end when no name waits: an idle process has none.
///
/// One look-up is under way per name at most. A call for a name that is being looked up is answered by another
/// look-up, which begins when that one has ended: the world may have changed since it began.
final class NameResolver {
    /// Names that wait or are looked up at the same time.
    static let maximumNames = 1_024
    /// Calls that wait for an answer at the same time.
    static let maximumCalls = 16_384

    /// Who waits for the answers of one name.
    private struct Calls {
        /// Answered by the look-up that waits or runs.
        var current: [(Resolution) -> Void]
        /// Answered by the one after it.
        var later: [(Resolution) -> Void] = []
    }

    private let runLoop: RunLoop
    private let mailbox: LookupMailbox
    private var source: ReadinessSource?
    private var calls: [String: Calls] = [:]
    private var callCount = 0
    private var isClosed = false

    /// Look-ups begun; several calls may share one.
    var lookups: UInt64 { mailbox.lookups }

    /// - Parameter lookUp: What is run on the threads, and may block.
    /// - Throws: A descriptor cannot be had.
    init(
        runLoop: RunLoop, lookUp: @escaping @Sendable (String) -> Resolution = { SystemLookup.addresses(of: $0) }
    ) throws(ReachabilityError) {
        self.runLoop = runLoop
        do throws(RunLoopError) {
            mailbox = try LookupMailbox(lookUp: lookUp)
            source = try runLoop.watch(mailbox.descriptor, for: .read, cause: .nameLookup) { [weak self] _ in
                self?.deliver()
            }
        } catch {
            throw ReachabilityError(error, advice: "raise the limit on descriptors")
        }
    }

    deinit { close() }

    /// Looks the name up and calls `completion` once, in a later turn of the loop, unless it is closed before.
    ///
    /// Beyond the limits the answer is `failed`. The threads are in the network and mount namespaces of the thread that
    /// makes the call.
    func resolve(_ host: String, _ completion: @escaping (Resolution) -> Void) {
        guard !isClosed else { return }
        guard callCount < Self.maximumCalls, calls[host] != nil || calls.count < Self.maximumNames else {
            return refuse(completion)
        }
        callCount += 1
        if calls[host] == nil {
            calls[host] = Calls(current: [completion])
            mailbox.submit(host)
        } else if mailbox.isWaiting(host) {
            calls[host]?.current.append(completion)
        } else {
            calls[host]?.later.append(completion)
        }
    }

    /// Ends without waiting for look-ups that are under way. No completion is called after it.
    func close() {
        isClosed = true
        source?.cancel()
        source = nil
        calls = [:]
        mailbox.close()
    }

    private func refuse(_ completion: @escaping (Resolution) -> Void) {
        // Not from within the call: whoever asks need not be ready for the answer yet.
        runLoop.enqueue { [weak self] in
            guard let self, !self.isClosed else { return }
            completion(.failed("more than \(Self.maximumNames) names are looked up"))
        }
    }

    private func deliver() {
        for answer in mailbox.takeAnswers() {
            guard let entry = calls.removeValue(forKey: answer.host) else { continue }
            callCount -= entry.current.count
            // Before the completions run, which may ask for the same name.
            if !entry.later.isEmpty {
                calls[answer.host] = Calls(current: entry.later)
                mailbox.submit(answer.host)
            }
            for completion in entry.current where !isClosed { completion(answer.resolution) }
        }
    }
}

extension WakeupCause {
    /// A name was looked up.
    static let nameLookup = WakeupCause("name-lookup")
    /// The name servers, or the names of hosts, may have changed.
    static let resolver = WakeupCause("resolver")
    /// The machine resumed, or its clock was set.
    static let resume = WakeupCause("resume")
}
