/// What listens where an audio server should, speaks its protocol (PulseAudio's native protocol, version 15), and
/// misbehaves.
///
///     server.py SOCKET BEHAVIOUR
enum HostileServerScript {
    enum Behaviour: String, CaseIterable {
        /// Takes connections and never answers.
        case mute
        /// Lets nobody in.
        case refuse
        /// Sends what is no message.
        case garbage
        /// Lets in, and closes at the first question.
        case close
        /// Tells of far too many streams, with names that are no text, and of any length.
        case hostile
        /// Tells 20,000 times that a stream changed.
        case storm
        /// Lets in and tells all, and closes at the first change that is asked for.
        case fragile
    }

    static let text = #"""
        import os, socket, struct, sys

        path, behaviour = sys.argv[1:]
        ERROR, REPLY, AUTH, NAME, SERVER, STREAM, STREAMS, SUBSCRIBE, SET_VOLUME, EVENT = 0, 2, 8, 9, 20, 29, 30, 35, 37, 66

        def number(value):
            return b"L" + struct.pack(">I", value)

        def text(value):
            return b"N" if value is None else b"t" + value + b"\0"

        sample = b"a\3\2" + struct.pack(">I", 48000)
        channels = b"m\2\1\2"

        def packet(command, tag, body=b""):
            data = number(command) + number(tag) + body
            return struct.pack(">IIIII", len(data), 0xFFFFFFFF, 0, 0, 0) + data

        def stream(index, name, properties=b"PN"):
            volume = b"v\2" + struct.pack(">II", 65536, 65536)
            times = b"U" + bytes(8) + b"U" + bytes(8)
            nowhere = number(0xFFFFFFFF)
            return (number(index) + text(name) + nowhere + nowhere + nowhere + sample + channels + volume + times
                    + text(None) + text(None) + b"0" + properties)

        def streams():
            if behaviour == "hostile":
                many = b"".join(stream(index, b"\xff\xfe\x80 %d" % index) for index in range(100, 5100))
                long = stream(1, b"\xc3\xa4" * 100_000)
                value = b"-7\0"
                properties = (b"Pt" + b"application.process.id\0" + number(len(value)) + b"x"
                              + struct.pack(">I", len(value)) + value + b"N")
                return long + stream(2, None, properties) + many
            return stream(1, b"one")

        def serve(connection):
            received = b""
            while True:
                while len(received) < 20 or len(received) < 20 + struct.unpack(">I", received[:4])[0]:
                    data = connection.recv(65536)
                    if not data:
                        return
                    received += data
                    if behaviour == "mute":
                        received = b""
                length, channel = struct.unpack(">II", received[:8])
                body, received = received[20:20 + length], received[20 + length:]
                if channel != 0xFFFFFFFF or len(body) < 10:
                    continue
                command, tag = struct.unpack(">I", body[1:5])[0], struct.unpack(">I", body[6:10])[0]
                if not answer(connection, command, tag):
                    return

        def answer(connection, command, tag):
            def reply(body=b""):
                connection.sendall(packet(REPLY, tag, body))
            if behaviour == "garbage":
                connection.sendall(b"\xff" * 4096)
            elif command == AUTH and behaviour == "refuse":
                connection.sendall(packet(ERROR, tag, number(1)))
            elif command == AUTH:
                reply(number(15))
            elif command == NAME:
                reply(number(1))
            elif behaviour == "close" or (behaviour == "fragile" and command == SET_VOLUME):
                connection.close()
                return False
            elif command == SERVER:
                reply(text(b"\xff\xff") + text(None) + text(b"who") + text(b"where") + sample + text(None) + text(b"")
                      + number(7) + channels)
            elif command == STREAM:
                reply(stream(1, b"one"))
            elif command == STREAMS:
                reply(streams())
                if behaviour == "storm":
                    event = packet(EVENT, 0xFFFFFFFF, number(0x12) + number(1))
                    for _ in range(200):
                        connection.sendall(event * 100)
                    print("sent", flush=True)
            else:
                reply()
            return True

        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        print("ready", flush=True)
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
