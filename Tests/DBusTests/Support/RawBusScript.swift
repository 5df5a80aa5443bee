/// What listens where a bus should, and is none.
enum RawBusScript {
    static let text = #"""
        import os, socket, struct, sys, time

        path, behaviour = sys.argv[1:]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(0 if behaviour == "full" else 8)
        if behaviour == "full":
            # The one place in the backlog, and the one more that the kernel gives, are taken.
            taken = []
            for _ in range(4):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                try:
                    one.connect(path)
                except BlockingIOError:
                    pass
                taken.append(one)
        print("ready", flush=True)
        if behaviour in ("full", "unaccepted"):
            time.sleep(1000)

        def aligned(data, to=8):
            return data + b"\0" * (-len(data) % to)

        def field(code, signature, data):
            return bytes([code, 1]) + signature + b"\0" + data

        def text(value):
            return struct.pack("<I", len(value)) + value + b"\0"

        def message(kind, serial, reply, sender, signature, body, size=None):
            fields = aligned(field(5, b"u", struct.pack("<I", reply))) if reply else b""
            fields += field(7, b"s", text(sender))
            if kind == 4:
                for code, kind_of, value in ((1, b"o", b"/a"), (2, b"s", b"org.example.Peer"), (3, b"s", b"Tick")):
                    fields = aligned(fields) + field(code, kind_of, text(value))
            if signature:
                fields = aligned(fields) + field(8, b"g", bytes([len(signature)]) + signature + b"\0")
            head = struct.pack("<BBBBIII", ord("l"), kind, 1, 1, len(body) if size is None else size, serial, len(fields))
            return aligned(head + fields) + body

        def serve(connection):
            received = b""
            def more():
                nonlocal received
                data = connection.recv(65536)
                if not data:
                    os._exit(0)
                received += data
            while b"BEGIN\r\n" not in received:
                more()
                if behaviour == "refuse":
                    # What dbus-daemon answers to another user.
                    connection.sendall(b'DATA\r\nREJECTED EXTERNAL\r\nERROR "Need to authenticate first"\r\n')
                    connection.close()
                    connection = listener.accept()[0]
                    received = b""
                    continue
                if b"AUTH" in received and b"DATA" in received and not serve.greeted:
                    serve.greeted = True
                    connection.sendall(b"DATA\r\nOK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n")
            received = received.split(b"BEGIN\r\n", 1)[1]
            while len(received) < 16:
                more()
            print("hello", flush=True)
            if behaviour == "mute":
                time.sleep(1000)
            if behaviour == "garbage":
                connection.sendall(b"\xff" * 4096)
                time.sleep(1000)
            if behaviour == "first":
                connection.sendall(message(4, 1, 0, b"org.freedesktop.DBus", b"", b""))
                time.sleep(1000)
            connection.sendall(message(2, 1, 1, b"org.freedesktop.DBus", b"s", text(b":1.1")))
            if behaviour == "deaf":
                time.sleep(1000)
            received = b""
            while len(received) < 16:
                more()
            if behaviour == "garbage-later":
                connection.sendall(b"\x00" * 4096)
            if behaviour == "dribble":
                for byte in message(2, 2, 2, b":1.2", b"s", text(b"next")):
                    connection.sendall(bytes([byte]))
                    time.sleep(0.002)
            if behaviour == "announced":
                connection.sendall(message(2, 2, 2, b":1.2", b"s", b"", size=(1 << 32) - 1))
            if behaviour == "huge":
                connection.sendall(message(2, 2, 2, b":1.2", b"s", text(b"x" * 100_000_000)))
                connection.sendall(message(2, 3, 3, b":1.2", b"s", text(b"next")))
            if behaviour == "huge-big-endian":
                fields = aligned(field(7, b"s", struct.pack(">I", 4) + b":1.2\0")) + field(5, b"u", struct.pack(">I", 2))
                head = struct.pack(">BBBBIII", ord("B"), 2, 1, 1, 100_000_000, 2, len(fields))
                connection.sendall(aligned(head + fields) + b"x" * 100_000_000)
                connection.sendall(message(2, 3, 3, b":1.2", b"s", text(b"next")))
            if behaviour == "partial":
                connection.sendall(message(2, 2, 2, b":1.2", b"s", text(b"x" * 1000))[:100])
            if behaviour == "signature":
                connection.sendall(message(2, 2, 2, b":1.2", b"a(", b"\0" * 64))
            if behaviour == "body":
                connection.sendall(message(2, 2, 2, b":1.2", b"as", struct.pack("<I", 1000) + b"\xff" * 16))
            if behaviour == "utf8":
                connection.sendall(message(2, 2, 2, b":1.2", b"s", text(b"\xff\xfe")))
            if behaviour == "reply-signal":
                connection.sendall(message(4, 2, 2, b":1.2", b"", b""))
            while True:
                more()

        serve.greeted = False
        serve(listener.accept()[0])
        """#
}
