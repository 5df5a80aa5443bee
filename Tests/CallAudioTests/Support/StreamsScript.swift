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
            while state() != wanted:
                if state() > wanted or pulse.pa_mainloop_iterate(loop, 1, None) < 0:
                    sys.exit("failed")

        pulse.pa_context_connect(context, server, 1, None)
        turn_until(lambda: pulse.pa_context_get_state(context), 4)

        def begin(number):
            sample = Sample(3, 48000, 2)
            stream = ctypes.c_void_p(pulse.pa_stream_new(context, b"stream %d" % number, ctypes.byref(sample), None))
            # Corked: nothing has to be played.
            pulse.pa_stream_connect_playback(stream, None, None, 1, None, None)
            return stream

        if what == "hold":
            streams = [begin(number) for number in range(count)]
            for stream in streams:
                turn_until(lambda: pulse.pa_stream_get_state(stream), 2)
            print("ready", flush=True)
            pulse.pa_mainloop_run(loop, None)
        else:
            for number in range(count):
                stream = begin(number)
                turn_until(lambda: pulse.pa_stream_get_state(stream), 2)
                pulse.pa_stream_disconnect(stream)
                pulse.pa_stream_unref(stream)
            while pulse.pa_context_is_pending(context):
                pulse.pa_mainloop_iterate(loop, 1, None)
            print("done", flush=True)
        """#
}
