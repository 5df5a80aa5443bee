/// The part of PulseAudio's native protocol, version 15, that an imitated server needs.
enum PulseProtocolScript {
    static let text = #"""
        import os, socket, struct, sys, threading, time

        path, behaviour = sys.argv[1:]
        ERROR, REPLY, AUTH, NAME, SERVER, STREAM, STREAMS, SUBSCRIBE, SET_VOLUME, EVENT = 0, 2, 8, 9, 20, 29, 30, 35, 37, 66
        SINK, SINKS, SOURCE, SOURCES, CARD, CARDS, SET_PROFILE = 21, 22, 23, 24, 88, 89, 90
        NOTHING = 0xFFFFFFFF

        def number(value):
            return b"L" + struct.pack(">I", value)

        def text(value):
            return b"N" if value is None else b"t" + value + b"\0"

        sample = b"a\3\2" + struct.pack(">I", 48000)
        channels = b"m\2\1\2"
        volume = b"v\2" + struct.pack(">II", 65536, 65536)
        latency = b"U" + bytes(8)

        def packet(command, tag, body=b""):
            data = number(command) + number(tag) + body
            return struct.pack(">IIIII", len(data), NOTHING, 0, 0, 0) + data

        def properties(values):
            parts = (text(key) + number(len(value) + 1) + b"x" + struct.pack(">I", len(value) + 1) + value + b"\0"
                     for key, value in values.items())
            return b"P" + b"".join(parts) + b"N"

        def requests(connection, is_mute=False):
            received = b""
            while True:
                while len(received) < 20 or len(received) < 20 + struct.unpack(">I", received[:4])[0]:
                    data = connection.recv(65536)
                    if not data:
                        return
                    received = b"" if is_mute else received + data
                length, channel = struct.unpack(">II", received[:8])
                body, received = received[20:20 + length], received[20 + length:]
                if channel == NOTHING and len(body) >= 10:
                    yield struct.unpack(">I", body[1:5])[0], struct.unpack(">I", body[6:10])[0], body[10:]

        def fill():
            """Connections that nobody takes in, as many as there may be."""
            waiting = []
            while True:
                connection = socket.socket(socket.AF_UNIX)
                connection.setblocking(False)
                waiting.append(connection)
                try:
                    connection.connect(path)
                except BlockingIOError:
                    return waiting

        def listen(serve):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen(8)
            waiting = fill() if behaviour == "full" else []
            print("ready", flush=True)
            if behaviour == "full":
                sys.stdin.readline()
                for connection in waiting:
                    connection.close()
            connections = 0
            while True:
                connection = listener.accept()[0]
                connections += 1
                print("connection %d" % connections, flush=True)
                try:
                    serve(connection)
                except OSError:
                    pass
                connection.close()

        """#
}
