/// A call that had not ended when the daemon did, as the journal has it.
package struct StoredCall: Hashable, Sendable {
    /// Where it stood. Its instants are of the present boot, negative ones included.
    package let record: CallRecord
    /// The payloads of its pushes that no handler may have.
    package let payloads: [CallPayload]
    package let origin: Origin

    /// When the record was written.
    package enum Origin: Hashable, Sendable {
        /// Since the machine was started: its instants, and the processes in it, mean what they say.
        case thisBoot
        /// Before that. The time is unknown when the wall clock doesn't show how long ago: then the record's instants
        /// mean nothing.
        case otherBoot(isTimeKnown: Bool)
    }

    package init(_ record: CallRecord, payloads: [CallPayload], _ origin: Origin) {
        self.record = record
        self.payloads = payloads
        self.origin = origin
    }
}
