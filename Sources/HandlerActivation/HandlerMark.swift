package import RingwakeCore

/// What is written down of a running handler, to find it again after a restart of the daemon.
///
/// It holds for the boot in which it was made: whoever keeps it keeps the boot's id beside it, and drops it when the
/// machine was restarted. A handler on a socket has none: its connection ends with the daemon.
package nonisolated enum HandlerMark: Hashable, Sendable, Codable {
    /// A process that the daemon started, the leader of its group.
    case process(ProcessIdentity)
    /// A unit in one activation: systemd gives each an id of 128 bits. Whether it ran before it was woken: then it is
    /// not for the daemon to end it.
    case unit(name: String, manager: SystemdManager, invocation: [UInt8], ranBefore: Bool)
    /// The owner of a name on a bus, and the call that it was woken for. A bus that is restarted counts its owners anew,
    /// so the process is named too.
    case owner(of: DBusHandlerName, connection: String, process: ProcessIdentity, app: AppID, call: CallID)
}

/// A process that no other can be taken for: numbers of processes are used again, but not with the same start time.
package nonisolated struct ProcessIdentity: Hashable, Sendable, Codable {
    package let pid: Int32
    /// Clock ticks from the boot to its start: field 22 of `/proc/PID/stat` (proc(5)).
    package let startTime: UInt64

    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }
}
