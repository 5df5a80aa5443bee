internal import CRingwakePulse
internal import Glibc
internal import RunLoop

/// libpulse's main loop on a run loop: descriptors, times and deferred work are the loop's own, so there is no thread
/// and nothing polls.
///
/// See `pulse/mainloop-api.h`. Its owner closes it after the last context is gone.
final class PulseMainLoop {
    let runLoop: RunLoop
    /// libpulse's functions. Valid as long as this object.
    let api: UnsafeMutablePointer<pa_mainloop_api>
    private(set) var isClosed = false
    private var events: [ObjectIdentifier: PulseLoopEvent] = [:]

    /// Events that libpulse has not freed.
    var eventCount: Int { events.count }

    init(runLoop: RunLoop) {
        self.runLoop = runLoop
        api = .allocate(capacity: 1)
        api.initialize(to: Self.functions())
        api.pointee.userdata = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        close()
        api.deinitialize(count: 1)
        api.deallocate()
    }

    /// No callback of libpulse runs after this. Idempotent.
    func close() {
        isClosed = true
        for event in events.values { event.cancel() }
        events = [:]
    }

    func forget(_ event: PulseLoopEvent) {
        events[ObjectIdentifier(event)] = nil
    }

    private func keep(_ event: PulseLoopEvent) -> OpaquePointer {
        events[ObjectIdentifier(event)] = event
        return event.handle
    }

    private static func of(_ api: UnsafeMutablePointer<pa_mainloop_api>?) -> PulseMainLoop? {
        guard let userdata = api?.pointee.userdata else { return nil }
        return Unmanaged<PulseMainLoop>.fromOpaque(userdata).takeUnretainedValue()
    }

    // MARK: - The functions that libpulse calls

    private static func functions() -> pa_mainloop_api {
        pa_mainloop_api(
            userdata: nil,
            io_new: { api, descriptor, flags, callback, userdata in
                guard let loop = PulseMainLoop.of(api), let callback else { return nil }
                return loop.keep(
                    PulseIOEvent(
                        loop: loop, descriptor: descriptor, flags: flags, callback: callback, userdata: userdata))
            },
            io_enable: { event, flags in PulseIOEvent.of(event)?.enable(flags) },
            io_free: { event in PulseIOEvent.of(event)?.free() },
            io_set_destroy: { event, callback in PulseLoopEvent.of(event)?.destroy = callback },
            time_new: { api, time, callback, userdata in
                guard let loop = PulseMainLoop.of(api), let callback else { return nil }
                return loop.keep(
                    PulseTimeEvent(loop: loop, time: time?.pointee, callback: callback, userdata: userdata))
            },
            time_restart: { event, time in PulseTimeEvent.of(event)?.restart(at: time?.pointee) },
            time_free: { event in PulseTimeEvent.of(event)?.free() },
            time_set_destroy: { event, callback in PulseLoopEvent.of(event)?.destroy = callback },
            defer_new: { api, callback, userdata in
                guard let loop = PulseMainLoop.of(api), let callback else { return nil }
                return loop.keep(PulseDeferEvent(loop: loop, callback: callback, userdata: userdata))
            },
            defer_enable: { event, isEnabled in PulseDeferEvent.of(event)?.enable(isEnabled != 0) },
            defer_free: { event in PulseDeferEvent.of(event)?.free() },
            defer_set_destroy: { event, callback in PulseLoopEvent.of(event)?.destroy = callback },
            // libpulse must not end a program's own loop, and its client functions never ask for it.
            quit: { _, _ in })
    }
}
