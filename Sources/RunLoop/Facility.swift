internal import CRingwakeLinux
internal import Glibc

/// Something of the kernel that a program can do without, at a price.
package struct Facility: Hashable, Sendable {
    /// A stable word.
    package let name: String
    /// Why it is missing; nil if it is there.
    package let why: String?
    /// What is lost without it.
    package let loss: String

    package init(name: String, why: String?, loss: String) {
        self.name = name
        self.why = why
        self.loss = loss
    }

    /// Tries each facility once, with this process's rights. Nothing stays open.
    package static func probe() -> [Facility] {
        [
            Facility(
                name: "pidfd", why: attempt { ringwake_pidfd_open(getpid()) },
                loss:
                    "the end of handlers that outlive the daemon, or connect by themselves, is noticed within two seconds"
            ),
            Facility(
                name: "memfd", why: attempt { ringwake_memfd("ringwake-probe") },
                loss: "the requests of handlers are files without a name in the runtime directory, which is in memory"),
            Facility(
                name: "boottime-alarm", why: attempt { ringwake_timerfd_create(CLOCK_BOOTTIME_ALARM) },
                loss: "deadlines of calls do not wake a suspended machine; they pass when it resumes"),
            Facility(
                name: "inotify", why: attempt { ringwake_inotify() },
                loss: "the output of handlers is not logged, and host names are looked up again each time"),
        ]
    }

    /// - Parameter open: opens a descriptor, or returns -1 with errno.
    package static func attempt(_ open: () -> Int32) -> String? {
        let descriptor = open()
        guard descriptor < 0 else {
            close(descriptor)
            return nil
        }
        return String(cString: strerror(errno))
    }
}
