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
        /// Tells that a stream changed, and again whenever it is asked for.
        case restless
        /// Lets in and tells all, and closes at the first change that is asked for.
        case fragile
        /// Closes its first connection as ``close`` does, and is none of these afterwards.
        case recovering
        /// Takes nobody in, with a full queue, until it is told something.
        case full
    }

    static let text =
        PulseProtocolScript.text + #"""
            def stream(index, name, values={}):
                return (number(index) + text(name) + number(NOTHING) + number(NOTHING) + number(NOTHING) + sample + channels
                        + volume + latency + latency + text(None) + text(None) + b"0" + properties(values))

            def streams():
                if behaviour == "hostile":
                    many = b"".join(stream(index, b"\xff\xfe\x80 %d" % index) for index in range(100, 5100))
                    return stream(1, b"x" + b"\xc3\xa4" * 100_000) + stream(2, None, {b"application.process.id": b"-7"}) + many
                return stream(1, b"one")

            event = packet(EVENT, NOTHING, number(0x12) + number(1))

            served = []

            def serve(connection):
                served.append(connection)
                for command, tag, _ in requests(connection, behaviour == "mute"):
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
                elif behaviour == "close" or (behaviour == "recovering" and len(served) == 1) \
                        or (behaviour == "fragile" and command == SET_VOLUME):
                    return False
                elif command == SERVER:
                    reply(text(b"\xff\xff") + text(None) + text(b"who") + text(b"where") + sample + text(None) + text(b"")
                          + number(7) + channels)
                elif command == STREAM:
                    reply(stream(1, b"one"))
                    if behaviour == "restless":
                        connection.sendall(event)
                        print("asked", flush=True)
                elif command == STREAMS:
                    reply(streams())
                    if behaviour == "restless":
                        connection.sendall(event)
                    if behaviour == "storm":
                        for _ in range(200):
                            connection.sendall(event * 100)
                        print("sent", flush=True)
                else:
                    reply()
                return True

            listen(serve)
            """#
}
