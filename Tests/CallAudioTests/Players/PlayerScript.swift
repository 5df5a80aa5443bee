/// A media player in Python, which behaves as its first argument says.
enum PlayerScript {
    /// What a player does when it is told to pause, and how it is besides.
    enum Behaviour: String {
        case good
        /// Changes its state, and tells nobody.
        case quiet
        /// Tells that its state is another, without saying which.
        case invalidating
        /// Takes the order and plays on.
        case deaf
        /// Takes the order, and is paused too late.
        case slow
        /// Stops instead.
        case stopping
        case refusing
        /// Answers nothing at all.
        case hanging
        /// Stops when it gets the order, and carries it out when it is continued.
        case hangingAtPause
        /// Answers all but the question for its metadata.
        case forgetful
        /// Cannot be paused.
        case steady
        /// 1 MB of metadata.
        case huge
        /// 3 MB of metadata: more than is taken.
        case enormous
        /// Properties of the wrong types.
        case wrong
    }

    static let text = #"""
        import os, sys, threading, time
        import dbus, dbus.bus, dbus.service
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib

        DBusGMainLoop(set_as_default=True)
        behaviour, address, names = sys.argv[1], sys.argv[2], sys.argv[3:]
        bus = dbus.bus.BusConnection(address)
        PLAYER = "org.mpris.MediaPlayer2.Player"
        PROPERTIES = "org.freedesktop.DBus.Properties"

        def say(text):
            print(text, flush=True)

        class Player(dbus.service.Object):
            status = "Playing"
            track = "/track/1"

            @dbus.service.method(PROPERTIES, in_signature="ss", out_signature="v", async_callbacks=("done", "failed"))
            def Get(self, interface, name, done, failed):
                if behaviour == "hanging":
                    return
                if name == "PlaybackStatus":
                    return done(dbus.Int32(1, variant_level=1) if behaviour == "wrong" else dbus.String(self.status, variant_level=1))
                if name == "CanPause":
                    return done(dbus.Boolean(behaviour != "steady", variant_level=1))
                if name == "Metadata":
                    if behaviour == "forgetful":
                        return
                    metadata = {}
                    if self.track:
                        metadata["mpris:trackid"] = dbus.ObjectPath(self.track)
                    if behaviour in ("huge", "enormous"):
                        metadata["xesam:title"] = "x" * (1_000_000 if behaviour == "huge" else 3_000_000)
                    return done(dbus.Dictionary(metadata, signature="sv", variant_level=1))
                failed(dbus.DBusException("no such property"))

            @dbus.service.method(PLAYER)
            def Pause(self):
                say("Pause")
                if behaviour == "hangingAtPause":
                    os.kill(os.getpid(), 19)
                if behaviour == "refusing":
                    raise dbus.DBusException("no")
                if behaviour == "slow":
                    GLib.timeout_add(1000, self.become, "Paused")
                elif behaviour == "stopping":
                    self.become("Stopped")
                elif behaviour != "deaf":
                    GLib.timeout_add(20, self.become, "Paused")

            @dbus.service.method(PLAYER)
            def Play(self):
                say("Play")
                self.become("Playing")

            @dbus.service.method(PLAYER)
            def PlayPause(self):
                say("PlayPause")

            def become(self, status):
                self.status = status
                if behaviour == "invalidating":
                    self.PropertiesChanged(PLAYER, {}, ["PlaybackStatus"])
                elif behaviour != "quiet":
                    self.PropertiesChanged(PLAYER, {"PlaybackStatus": status}, [])
                say("is " + status)
                return False

            @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
            def PropertiesChanged(self, interface, changed, invalidated):
                pass

        player = Player(bus, "/org/mpris/MediaPlayer2")
        loop = GLib.MainLoop()

        def obey(line):
            word, *rest = line.split()
            if word == "become":
                player.become(rest[0])
            elif word == "track":
                player.track = rest[0] if rest else None
                say("track")
            elif word == "say":
                say(rest[0])
            elif word == "release":
                for name in names:
                    bus.release_name(name)
                say("released")

        def listen():
            for line in sys.stdin:
                GLib.idle_add(obey, line)
            GLib.idle_add(loop.quit)

        for name in names:
            bus.request_name(name)
        threading.Thread(target=listen, daemon=True).start()
        say("ready")
        loop.run()
        """#
}
