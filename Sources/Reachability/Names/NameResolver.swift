internal import RunLoop

/// Finds the addresses of host names by `getaddrinfo`, on threads of its own.
///
/// Not c-ares, which supports DNS only: it ignores the other sources of nsswitch.conf(5) (files, mDNS, resolved with
/// its policies), so a result could differ from that of the program that connects. Not `getaddrinfo_a`, whose threads
/// can't be named, sized or stopped, and never end. The threads here (at most four) are started on demand and end
/// when no name waits: an idle process has none.
///
/// There is at most one look-up per name at a time. A call for a name that is being looked up is answered by another
/// look-up, which begins when the current one has ended: the network may have changed since that began.
final class NameResolver {
    /// Maximum names that wait or are being looked up.
    static let maximumNames = 1_024
    /// Maximum calls that wait for an answer.
    static let maximumCalls = 16_384

    /// The calls that wait for one name.
    private struct Calls {
        /// Answered by the current look-up.
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

    /// - Parameter lookUp: runs on the threads, and may block.
    /// - Throws: There is no descriptor left.
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

    /// Ends without waiting for current look-ups. No completion is called afterwards.
    func close() {
        isClosed = true
        source?.cancel()
        source = nil
        calls = [:]
        mailbox.close()
    }

    private func refuse(_ completion: @escaping (Resolution) -> Void) {
        // Not from within the call: the caller may not be ready for the answer yet.
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
