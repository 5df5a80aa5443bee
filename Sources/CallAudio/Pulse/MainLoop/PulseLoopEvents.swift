internal import CRingwakePulse
internal import Glibc
internal import RunLoop

/// One thing that libpulse asked its main loop to watch. It lives until libpulse frees it; if that happens in its own
/// callback, until the callback has returned.
class PulseLoopEvent {
    unowned let loop: PulseMainLoop
    let userdata: UnsafeMutableRawPointer?
    private(set) var isFreed = false
    private var isInCallback = false
    /// Called when the event is gone. The same type for all three kinds of events.
    var destroy: pa_io_event_destroy_cb_t?

    init(loop: PulseMainLoop, userdata: UnsafeMutableRawPointer?) {
        self.loop = loop
        self.userdata = userdata
    }

    /// libpulse's handle of it.
    var handle: OpaquePointer { OpaquePointer(Unmanaged.passUnretained(self).toOpaque()) }

    static func of(_ handle: OpaquePointer?) -> Self? {
        handle.map { Unmanaged<Self>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    /// Stops watching.
    func cancel() {}

    /// Ends it: no callback follows except ``destroy``.
    func free() {
        guard !isFreed else { return }
        isFreed = true
        cancel()
        if !isInCallback { notifyDestroyed() }
    }

    /// Runs a callback of libpulse.
    func call(_ body: () -> Void) {
        guard !isFreed, !loop.isClosed else { return }
        isInCallback = true
        body()
        isInCallback = false
        if isFreed { notifyDestroyed() }
    }

    private func notifyDestroyed() {
        destroy?(loop.api, handle, userdata)
        destroy = nil
        loop.forget(self)
    }
}

/// Readiness of a descriptor.
final class PulseIOEvent: PulseLoopEvent {
    private let descriptor: Int32
    /// A duplicate: if a connection over a network fails, libpulse closes its descriptor before it frees the event,
    /// and by then the number may belong to another file.
    private let duplicate: Int32
    private let callback: pa_io_event_cb_t
    private var source: ReadinessSource?

    init(
        loop: PulseMainLoop, descriptor: Int32, flags: pa_io_event_flags_t, callback: @escaping pa_io_event_cb_t,
        userdata: UnsafeMutableRawPointer?
    ) {
        self.descriptor = descriptor
        self.callback = callback
        duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        super.init(loop: loop, userdata: userdata)
        // libpulse requires an event. Without a source it never fires, and the connection's timeout ends it.
        guard duplicate >= 0 else { return }
        source = try? loop.runLoop.watch(duplicate, for: Self.interest(of: flags), cause: .audioServer) {
            [weak self] in self?.ready($0)
        }
    }

    deinit { if duplicate >= 0 { close(duplicate) } }

    func enable(_ flags: pa_io_event_flags_t) { try? source?.update(Self.interest(of: flags)) }

    override func cancel() {
        source?.cancel()
        source = nil
    }

    private func ready(_ readiness: Readiness) {
        var flags: UInt32 = 0
        if readiness.contains(.read) { flags |= PA_IO_EVENT_INPUT.rawValue }
        if readiness.contains(.write) { flags |= PA_IO_EVENT_OUTPUT.rawValue }
        if readiness.contains(.hangup) { flags |= PA_IO_EVENT_HANGUP.rawValue }
        if readiness.contains(.error) { flags |= PA_IO_EVENT_ERROR.rawValue }
        call { callback(loop.api, handle, descriptor, pa_io_event_flags_t(rawValue: flags), userdata) }
    }

    private static func interest(of flags: pa_io_event_flags_t) -> Interest {
        var interest: Interest = []
        if flags.rawValue & PA_IO_EVENT_INPUT.rawValue != 0 { interest.insert(.read) }
        if flags.rawValue & PA_IO_EVENT_OUTPUT.rawValue != 0 { interest.insert(.write) }
        return interest
    }
}

/// A timer: libpulse uses these for timeouts of seconds.
final class PulseTimeEvent: PulseLoopEvent {
    /// Timeouts may come this much later.
    private static let tolerance = Duration.milliseconds(100)

    private let callback: pa_time_event_cb_t
    private var time = timeval()
    private var timer: Timer?

    init(
        loop: PulseMainLoop, time: timeval?, callback: @escaping pa_time_event_cb_t, userdata: UnsafeMutableRawPointer?
    ) {
        self.callback = callback
        super.init(loop: loop, userdata: userdata)
        restart(at: time)
    }

    /// - Parameter time: Nil stops it.
    func restart(at time: timeval?) {
        cancel()
        guard let time, !isFreed else { return }
        self.time = time
        let deadline = loop.runLoop.refreshNow().advanced(
            by: PulseTime.duration(untilSeconds: Int(time.tv_sec), microseconds: Int(time.tv_usec)))
        timer = loop.runLoop.schedule(at: deadline, tolerance: Self.tolerance, wakingFromSuspend: false) {
            [weak self] in self?.fire()
        }
    }

    override func cancel() {
        if let timer { loop.runLoop.cancel(timer) }
        timer = nil
    }

    private func fire() {
        timer = nil
        call { withUnsafePointer(to: time) { callback(loop.api, handle, $0, userdata) } }
    }
}

/// Runs once each turn while it is enabled, as it is at first.
final class PulseDeferEvent: PulseLoopEvent {
    private let callback: pa_defer_event_cb_t
    private var isEnabled = false
    private var isEnqueued = false

    init(loop: PulseMainLoop, callback: @escaping pa_defer_event_cb_t, userdata: UnsafeMutableRawPointer?) {
        self.callback = callback
        super.init(loop: loop, userdata: userdata)
        enable(true)
    }

    func enable(_ isEnabled: Bool) {
        self.isEnabled = isEnabled
        guard isEnabled, !isEnqueued else { return }
        isEnqueued = true
        loop.runLoop.enqueue { [weak self] in self?.run() }
    }

    override func cancel() {
        isEnabled = false
    }

    private func run() {
        isEnqueued = false
        guard isEnabled else { return }
        call { callback(loop.api, handle, userdata) }
        guard isEnabled, !isEnqueued else { return }
        // In the next turn, after ready descriptors.
        isEnqueued = true
        loop.runLoop.schedule(at: loop.runLoop.now, tolerance: .zero) { [weak self] in self?.run() }
    }
}

/// libpulse's times.
enum PulseTime {
    /// A time with this bit in its microseconds is on the monotonic clock, all others on the wall clock
    /// (`PA_TIMEVAL_RTCLOCK` in PulseAudio's src/pulse/internal.h). libpulse 16 never passes such times to a foreign
    /// main loop.
    static let monotonicFlag = 1 << 30

    /// The time until then, from now. Later changes of the wall clock do not matter.
    static func duration(untilSeconds seconds: Int, microseconds: Int) -> Duration {
        var now = timespec()
        clock_gettime(microseconds & monotonicFlag != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now)
        return .seconds(Int64(seconds) - Int64(now.tv_sec))
            + .microseconds(Int64(microseconds & ~monotonicFlag) - Int64(now.tv_nsec) / 1_000)
    }
}

extension WakeupCause {
    static let audioServer = WakeupCause("audio server")
}
