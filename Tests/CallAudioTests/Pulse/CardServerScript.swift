/// A server with a Bluetooth headset, as no null sink has one: a card whose profile decides which devices there are.
///
///     server.py SOCKET BEHAVIOUR
enum CardServerScript {
    enum Behaviour: String, CaseIterable {
        /// As PulseAudio: done when it is acknowledged.
        case prompt
        /// As PipeWire: acknowledged at once, done later, the devices later still, and under a longer name.
        case late
        /// As PulseAudio when the headset does not answer: refused, and the card is off.
        case refuse
        /// As PipeWire then: acknowledged, and nothing happens.
        case never
    }

    static let text =
        PulseProtocolScript.text + #"""
            state = {"profile": b"a2dp_sink", "devices": b"a2dp_sink", "generation": 1}
            PROFILES = {b"a2dp_sink": (1, 0), b"headset_head_unit": (1, 1), b"off": (0, 0)}

            def profile_of(name):
                return next((known for known in PROFILES if name.startswith(known)), b"off")

            def card():
                names = dict(PROFILES)
                names.setdefault(state["profile"], PROFILES[profile_of(state["profile"])])
                profiles = b"".join(text(name) + text(name) + number(sinks) + number(sources) + number(10)
                                    for name, (sinks, sources) in names.items())
                values = {b"device.api": b"bluez", b"device.bus": b"bluetooth", b"device.form_factor": b"headset"}
                return (number(5) + text(b"bluez_card") + number(NOTHING) + text(b"bluez") + number(len(names)) + profiles
                        + text(state["profile"]) + properties(values))

            def device(kind, name):
                number_of = number(state["generation"] * 10 + kind)
                return (number_of + text(name) + text(b"Headset") + sample + channels + number(NOTHING) + volume + b"0"
                        + number(NOTHING) + text(None) + latency + text(b"bluez") + number(0)
                        + properties({b"device.api": b"bluez", b"bluetooth.protocol": state["devices"]}) + latency
                        + b"V" + struct.pack(">I", 65536) + number(0) + number(65537) + number(5))

            def devices(kind):
                has = PROFILES[profile_of(state["devices"])][kind]
                return device(kind, b"bluez_%s.%s" % ([b"sink", b"source"][kind], state["devices"])) if has else b""

            def tell(connection, *events):
                connection.sendall(b"".join(packet(EVENT, NOTHING, number(kind) + number(index)) for kind, index in events))

            def become(connection, profile, pause=0):
                # Card 9 and server 7 change, sinks 0 and sources 1 come; 0x10 is a change, 0x20 the end.
                before = state["generation"] * 10
                time.sleep(pause)
                state["profile"] = profile
                tell(connection, (0x19, 5))
                time.sleep(pause)
                state["devices"], state["generation"] = profile, state["generation"] + 1
                after = state["generation"] * 10
                tell(connection, (0x20, before), (0x21, before + 1), (0, after), (1, after + 1), (0x17, 0), (0x19, 5))

            def serve(connection):
                for command, tag, body in requests(connection):
                    answer(connection, command, tag, body)

            def answer(connection, command, tag, body):
                def reply(body=b""):
                    connection.sendall(packet(REPLY, tag, body))
                def one_or_nothing(found):
                    connection.sendall(packet(REPLY, tag, found) if found else packet(ERROR, tag, number(5)))
                if command == AUTH:
                    reply(number(15))
                elif command == NAME:
                    reply(number(1))
                elif command == SERVER:
                    sink = b"bluez_sink." + state["devices"]
                    reply(text(b"imitated") + text(b"1") + text(b"who") + text(b"where") + sample + text(sink) + text(b"")
                          + number(7) + channels)
                elif command in (CARD, CARDS):
                    reply(card())
                elif command == SINKS:
                    reply(devices(0))
                elif command == SOURCES:
                    reply(devices(1))
                elif command == SINK:
                    one_or_nothing(devices(0))
                elif command == SOURCE:
                    one_or_nothing(devices(1))
                elif command == SET_PROFILE:
                    # An index, the card's name, the profile's.
                    change(connection, tag, body[5:].split(b"\0")[1][1:])
                else:
                    reply()

            def change(connection, tag, profile):
                if behaviour == "refuse":
                    become(connection, b"off")
                    return connection.sendall(packet(ERROR, tag, number(25)))
                if behaviour == "prompt":
                    become(connection, profile)
                connection.sendall(packet(REPLY, tag))
                if behaviour == "late":
                    threading.Thread(target=become, args=(connection, profile + b"-cvsd", 0.1), daemon=True).start()

            listen(serve)
            """#
}
