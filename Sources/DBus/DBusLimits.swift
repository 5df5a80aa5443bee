/// Limits of what is read and kept, whatever a peer sends.
package enum DBusLimits {
    /// Bytes of one message; a larger one is dropped before sd-bus sees it. The specification allows 128 MiB.
    package static let maximumMessageBytes: UInt64 = 2 << 20
    /// Values in one message, each element and entry counted: some 3 MB at worst. systemd's list of all units, the
    /// largest reply in common use, has about 5,000.
    package static let maximumValues = 65_536
    /// Bytes of all strings of one message.
    package static let maximumTextBytes = 1 << 20
    /// Containers in containers. The specification allows 64.
    package static let maximumDepth = 32
    /// Calls that wait for their reply on one connection.
    package static let maximumCalls = 1_024
    /// Messages that wait for the socket, while the bus reads slower than we write.
    package static let maximumQueuedMessages: UInt64 = 1_024
    /// Messages handled in one turn of the loop; the rest is in the socket and comes in the next turn.
    package static let maximumMessagesPerTurn = 128
    /// Pieces of messages handled in one turn: some 8 MiB.
    static let maximumStepsPerTurn = 1_024
}
