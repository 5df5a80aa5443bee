/// A call that had not ended when the daemon did, as the journal has it.
package struct RecoveredCall: Hashable, Sendable {
    /// Where it stood. Its instants are of the present boot, negative ones included.
    package let record: CallRecord
    /// The payload of the push that started it.
    package let payload: [UInt8]
    /// False when the machine was restarted since and the wall clock does not show how long ago that was: then
    /// the record's instants mean nothing.
    package let isTimeKnown: Bool

    package init(record: CallRecord, payload: [UInt8], isTimeKnown: Bool) {
        self.record = record
        self.payload = payload
        self.isTimeKnown = isTimeKnown
    }
}
