/// The positions of the facts in an app's payload: a JSON Pointer (RFC 6901) for each.
///
/// No push protocol defines a schema for calls, so each app maps its own. Facts without a mapping are unknown: the
/// push's id is the call id, and the caller is unknown until the handler reports.
package struct PayloadMapping: Hashable, Sendable {
    /// The call's id: a text or a number, of 1 to ``maximumCallBytes`` bytes.
    package var call: JSONPointer?
    /// The caller; cut at ``CallUpdate/maximumTextBytes``.
    package var caller: JSONPointer?
    /// The name to show; cut at ``CallUpdate/maximumTextBytes``.
    package var callerName: JSONPointer?
    /// Whether the call has video.
    package var video: Flag?
    /// Whether the push cancels its call, and why.
    package var cancel: Cancel?
    /// When the call began by the sender's wall clock; see ``PayloadTime``. Measures that clock, and decides nothing.
    package var sentAt: JSONPointer?
    /// How many seconds ago the call began when the push was sent: the time that it waited at the sender.
    package var age: JSONPointer?
    /// The ring time in seconds, clamped to ``PushFacts/ringTimes``; 0: no wish.
    package var ringTime: JSONPointer?

    /// The maximum size of a call id in bytes.
    package static let maximumCallBytes = 256

    package init() {}

    /// A value that means yes or no.
    package struct Flag: Hashable, Sendable {
        package var at: JSONPointer
        /// The values that mean yes; every other value means no. Nil: `true`, 1, `yes` and `video` mean yes; `false`,
        /// 0, `no`, `none`, `audio`, `voice` and a blank text mean no, ignoring case.
        package var values: [String]?

        package init(at pointer: JSONPointer, values: [String]? = nil) {
            at = pointer
            self.values = values
        }
    }

    /// A value that cancels a call.
    package struct Cancel: Hashable, Sendable {
        package var at: JSONPointer
        /// The values that cancel, with their reasons. Nil: every value cancels except `false`, 0, `no`, `none`, a
        /// blank text and null; `answeredElsewhere` and `declinedElsewhere` are their own reasons.
        package var values: [String: CallEndReason]?

        package init(at pointer: JSONPointer, values: [String: CallEndReason]? = nil) {
            at = pointer
            self.values = values
        }
    }

    /// Reads the facts of `payload`, which has passed ``JSONSyntax/requireObject(_:)``.
    ///
    /// Never fails: a missing or unusable fact is unknown. `problems` lists the unusable ones, for the log.
    /// `receivedAt` and `wallClock`, in milliseconds since 1970, are the same instant: the arrival.
    package func facts(
        in payload: [UInt8], receivedAt: BootInstant, wallClock: Int64
    ) -> (facts: PushFacts, problems: [PayloadProblem]) {
        let pointers = [call, caller, callerName, video?.at, cancel?.at, sentAt, age, ringTime]
        var values = PayloadScanner.find(pointers, in: payload).map { PayloadValue(payload, $0) }.makeIterator()
        var facts = PushFacts()
        var problems: [PayloadProblem] = []

        // The next value, in the order of `pointers`.
        func read(_ fact: PayloadProblem.Fact, _ body: (PayloadValue) throws(PayloadProblem.Reason) -> Void) {
            guard let value = values.next() ?? nil else { return }
            do throws(PayloadProblem.Reason) {
                try body(value)
            } catch {
                problems.append(PayloadProblem(fact, error))
            }
        }
        read(.call) { value throws(PayloadProblem.Reason) in facts.call = try callID(value) }
        read(.caller) { value throws(PayloadProblem.Reason) in facts.update.caller = try shown(value) }
        read(.callerName) { value throws(PayloadProblem.Reason) in facts.update.callerName = try shown(value) }
        read(.video) { value throws(PayloadProblem.Reason) in facts.update.hasVideo = try hasVideo(value) }
        read(.cancel) { value throws(PayloadProblem.Reason) in facts.cancel = try cancelReason(value) }
        var behind: Int64?
        read(.sentAt) { value throws(PayloadProblem.Reason) in
            let (difference, overflow) = wallClock.subtractingReportingOverflow(try value.time())
            behind = overflow ? nil : difference
        }
        var age: Int64 = 0
        read(.age) { value throws(PayloadProblem.Reason) in
            age = PayloadMapping.milliseconds(ofAge: try value.seconds())
            facts.sentAt = receivedAt.advanced(by: .milliseconds(-age))
        }
        facts.clockBehind = behind.map { .milliseconds($0.subtractingReportingOverflow(age).partialValue) }
        read(.ringTime) { value throws(PayloadProblem.Reason) in facts.ringTime = ringTime(try value.seconds()) }
        return (facts, problems)
    }
}

extension PayloadMapping {
    private func callID(_ value: PayloadValue) throws(PayloadProblem.Reason) -> CallID {
        let text = try value.text()
        guard !text.isEmpty else { throw .empty }
        // Don't cut it: two ids with the same beginning would become one call.
        guard text.utf8.count <= PayloadMapping.maximumCallBytes else { throw .tooLong }
        return CallID(text)
    }

    private func shown(_ value: PayloadValue) throws(PayloadProblem.Reason) -> String? {
        let text = try value.text()
        do throws(ShownText.ZeroByte) {
            return try ShownText.kept(text)
        } catch {
            throw .zeroByte
        }
    }

    private func hasVideo(_ value: PayloadValue) throws(PayloadProblem.Reason) -> Bool {
        if let values = video?.values {
            return values.contains(try value.word())
        }
        let says = try value.says(yes: ["true", "yes", "video"], no: ["false", "no", "none", "audio", "voice"])
        guard let says else { throw .wrongKind }
        return says
    }

    private func cancelReason(_ value: PayloadValue) throws(PayloadProblem.Reason) -> CallEndReason? {
        let word = try value.word()
        if let values = cancel?.values {
            return values[word]
        }
        if try value.says(yes: [], no: ["false", "no", "none"]) == false {
            return nil
        }
        guard let reason = CallEndReason(rawValue: word), CallEndReason.ofPushes.contains(reason) else {
            return .cancelled
        }
        return reason
    }

    /// Limited to a day: no call rings so long, and a larger number may not fit into whole milliseconds.
    private static func milliseconds(ofAge seconds: Double) -> Int64 { Int64(min(seconds, 86_400) * 1000) }

    /// Nil for 0, which is a time to live that is not set.
    private func ringTime(_ seconds: Double) -> Duration? {
        guard seconds > 0 else { return nil }
        let limits = PushFacts.ringTimes
        // Compare as Double: a large number may not fit into whole milliseconds.
        guard seconds < Double(limits.upperBound.components.seconds) else { return limits.upperBound }
        return max(limits.lowerBound, .milliseconds(Int64(seconds * 1000)))
    }
}
