/// A handler on a bus: writes down what it is told, and does what its second argument says.
enum NameScript {
    static let interpreter = "/usr/bin/python3"

    /// $1: the socket of the bus. $2: how it behaves. $3: a file for what it is told. $4: its name.
    static let text = #"""
        import os, sys
        import dbus, dbus.bus, dbus.lowlevel, dbus.mainloop.glib, dbus.service
        from gi.repository import GLib
        path, behaviour, log, name = sys.argv[1:5]
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.bus.BusConnection("unix:path=" + path)
        loop = GLib.MainLoop()
        def note(*words):
            with open(log, "a") as file: file.write("|".join(words) + "\n")
        class Handler(dbus.service.Object):
            @dbus.service.method("org.ringwake.Handler1", in_signature="sss", async_callbacks=("done", "failed"))
            def IncomingPush(self, request, secret, socket, done, failed):
                note("push", request, secret, socket)
                if behaviour == "refuses": return failed(dbus.DBusException("no", name="org.example.Phone.Error.Busy"))
                if behaviour == "mute": return
                done()
                if behaviour == "quits": loop.quit()
            @dbus.service.method("org.ringwake.Handler1", in_signature="ss")
            def Release(self, app, call):
                note("release", app, call)
                if behaviour != "stays": loop.quit()
        if behaviour == "crashes": sys.exit(3)
        handler = None if behaviour == "empty" else Handler(bus, "/org/example/Phone")
        taken = dbus.service.BusName(name, bus, do_not_queue=True)
        note("pid", str(os.getpid()))
        # A test that is broken off leaves nobody behind.
        GLib.timeout_add_seconds(120, loop.quit)
        bus.call_on_disconnection(lambda connection: loop.quit())
        loop.run()
        bus.release_name(name)
        """#
}
