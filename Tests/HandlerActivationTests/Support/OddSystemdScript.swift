/// What answers to systemd's name and behaves as the real one never should: $1 the bus's socket, $2 how, $3 a log.
enum OddSystemdScript {
    static let text = #"""
        import sys
        import dbus, dbus.bus, dbus.mainloop.glib, dbus.service
        from gi.repository import GLib
        path, how, log = sys.argv[1:4]
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.bus.BusConnection("unix:path=" + path)
        loop = GLib.MainLoop()
        NAME = "org.freedesktop.systemd1"
        def note(*words):
            with open(log, "a") as file: file.write(" ".join(words) + "\n")
        def fail(name): raise dbus.DBusException("because", name=name)
        class Manager(dbus.service.Object):
            @dbus.service.signal(NAME + ".Manager", signature="uoss")
            def JobRemoved(self, number, job, unit, result): pass
            @dbus.service.method(NAME + ".Manager")
            def Subscribe(self): note("Subscribe")
            @dbus.service.method(NAME + ".Manager")
            def Unsubscribe(self): note("Unsubscribe")
            @dbus.service.method(
                NAME + ".Manager", in_signature="ss", out_signature="s" if how == "wrong" else "o",
                async_callbacks=("done", "failed"))
            def StartUnit(self, unit, mode, done, failed):
                note("StartUnit", unit, mode)
                if how == "mute": return
                if how == "denied": fail("org.freedesktop.DBus.Error.AccessDenied")
                if how == "wrong": return done("")
                job = dbus.ObjectPath("/job/1")
                if how == "early": self.JobRemoved(1, job, unit, "done")
                done(job)
                if how in ("vanishes", "stuck"): self.JobRemoved(1, job, unit, "done")
            @dbus.service.method(NAME + ".Manager", in_signature="ss", out_signature="o")
            def StopUnit(self, unit, mode):
                note("StopUnit", unit, mode)
                if how == "stuck": fail("org.freedesktop.DBus.Error.AccessDenied")
                return "/job/2"
            @dbus.service.method(NAME + ".Manager", in_signature="ssi")
            def KillUnit(self, unit, who, signal): note("KillUnit", unit, who, str(int(signal)))
        class Unit(dbus.service.FallbackObject):
            @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
            def Get(self, interface, name):
                if how == "vanishes": fail("org.freedesktop.DBus.Error.UnknownObject")
                return {"MainPID": dbus.UInt32(0), "ActiveState": "active"}.get(name, dbus.Array([], signature="y"))
        manager, units = Manager(bus, "/org/freedesktop/systemd1"), Unit(bus, "/org/freedesktop/systemd1/unit")
        taken = dbus.service.BusName(NAME, bus, do_not_queue=True)
        note("ready")
        # A test that is broken off leaves nobody behind.
        GLib.timeout_add_seconds(120, loop.quit)
        loop.run()
        """#
}
