/// A client of an audio server in another language: many streams of one connection, and streams that come and go.
///
///     streams.py SERVER hold COUNT      that many playing streams until it is killed; says "ready"
///     streams.py SERVER cycle COUNT     one after the other, that often; says "done"
enum StreamsScript {
    static let text = #"""
        import ctypes, sys

        pulse = ctypes.CDLL("libpulse.so.0")
        for name in ("pa_mainloop_new", "pa_mainloop_get_api", "pa_context_new", "pa_stream_new"):
            getattr(pulse, name).restype = ctypes.c_void_p

        class Sample(ctypes.Structure):
            _fields_ = [("format", ctypes.c_int), ("rate", ctypes.c_uint32), ("channels", ctypes.c_uint8)]

        server, what, count = sys.argv[1].encode(), sys.argv[2], int(sys.argv[3])
        loop = ctypes.c_void_p(pulse.pa_mainloop_new())
        context = ctypes.c_void_p(pulse.pa_context_new(ctypes.c_void_p(pulse.pa_mainloop_get_api(loop)), b"streams"))

        def turn_until(state, wanted):
            """Whether that state is reached; the states beyond it are failures."""
            while state() < wanted:
                if pulse.pa_mainloop_iterate(loop, 1, None) < 0:
                    sys.exit("the main loop failed")
            return state() == wanted

        pulse.pa_context_connect(context, server, 1, None)
        if not turn_until(lambda: pulse.pa_context_get_state(context), 4):
            sys.exit("not connected")

        def connected(number):
            """A stream that the server has accepted. PipeWire 0.3.65 fails single ones on a busy machine: once more."""
            for _ in range(20):
                sample = Sample(3, 48000, 2)
                stream = ctypes.c_void_p(pulse.pa_stream_new(context, b"stream %d" % number, ctypes.byref(sample), None))
                # Corked: nothing has to be played.
                pulse.pa_stream_connect_playback(stream, None, None, 1, None, None)
                if turn_until(lambda: pulse.pa_stream_get_state(stream), 2):
                    return stream
                pulse.pa_stream_unref(stream)
            sys.exit("stream %d: %d" % (number, pulse.pa_context_errno(context)))

        if what == "hold":
            streams = [connected(number) for number in range(count)]
            print("ready", flush=True)
            pulse.pa_mainloop_run(loop, None)
        else:
            for number in range(count):
                stream = connected(number)
                pulse.pa_stream_disconnect(stream)
                pulse.pa_stream_unref(stream)
            while pulse.pa_context_is_pending(context):
                pulse.pa_mainloop_iterate(loop, 1, None)
            print("done", flush=True)
        """#
}
