/// A service on the bus, in another language and with another library.
enum PeerScript {
    static let text = #"""
        import os, sys
        import dbus, dbus.bus, dbus.lowlevel, dbus.service
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib

        DBusGMainLoop(set_as_default=True)
        address = "unix:path=" + sys.argv[2] if len(sys.argv) > 2 else os.environ["DBUS_STARTER_ADDRESS"]
        bus = dbus.bus.BusConnection(address)
        loop = GLib.MainLoop()
        INTERFACE = "org.example.Peer"

        class Refusal(dbus.DBusException):
            pass

        class Peer(dbus.service.Object):
            @dbus.service.method(INTERFACE, in_signature="v", out_signature="v")
            def Echo(self, value):
                return value

            @dbus.service.method(INTERFACE, in_signature="v", out_signature="s")
            def Describe(self, value):
                return repr(value)

            @dbus.service.method(INTERFACE, in_signature="ss")
            def Fail(self, name, message):
                error = Refusal(message)
                error._dbus_error_name = name
                raise error

            @dbus.service.method(INTERFACE, async_callbacks=("done", "failed"))
            def Never(self, done, failed):
                pass

            @dbus.service.method(INTERFACE, out_signature="s", async_callbacks=("done", "failed"))
            def Hold(self, done, failed):
                self.held = done

            @dbus.service.method(INTERFACE)
            def LetGo(self):
                self.held("late")

            @dbus.service.method(INTERFACE, out_signature="h")
            def Descriptor(self):
                near, far = os.pipe()
                os.write(far, b"from the peer")
                os.close(far)
                result = dbus.types.UnixFd(near)
                os.close(near)
                return result

            @dbus.service.method(INTERFACE, out_signature="h")
            def Inhibit(self):
                near, self.far = os.pipe()
                result = dbus.types.UnixFd(self.far)
                os.close(self.far)
                GLib.io_add_watch(near, GLib.IO_HUP, lambda *_: print("released", flush=True) and False)
                return result

            @dbus.service.method(INTERFACE, in_signature="h", out_signature="s")
            def Read(self, descriptor):
                with os.fdopen(descriptor.take(), "rb") as file:
                    return file.read().decode()

            @dbus.service.method(INTERFACE, in_signature="u", out_signature="s")
            def Text(self, count):
                return "x" * int(count)

            @dbus.service.method(INTERFACE, in_signature="u", out_signature="as")
            def Many(self, count):
                return ["x"] * int(count)

            @dbus.service.method(INTERFACE, in_signature="u", out_signature="v")
            def Deep(self, depth):
                return dbus.Int32(1, variant_level=int(depth) - 1)

            @dbus.service.method(INTERFACE, in_signature="u")
            def Emit(self, count):
                for number in range(int(count)):
                    self.Tick("even" if number % 2 == 0 else "odd", number)

            @dbus.service.signal(INTERFACE, signature="su")
            def Tick(self, kind, number):
                pass

            @dbus.service.method(INTERFACE, in_signature="u")
            def EmitText(self, count):
                self.Tick("x" * int(count), 0)

            @dbus.service.method(INTERFACE, in_signature="s")
            def Forge(self, destination):
                signal = dbus.lowlevel.SignalMessage("/peer", INTERFACE, "Tick")
                signal.set_destination(destination)
                signal.append("forged", dbus.UInt32(1), signature="su")
                bus.send_message(signal)
                change = dbus.lowlevel.SignalMessage(
                    "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged")
                change.set_destination(destination)
                change.append("org.example.Peer", "", ":1.999", signature="sss")
                bus.send_message(change)

            @dbus.service.method(INTERFACE, in_signature="ss", async_callbacks=("done", "failed"))
            def CallBack(self, destination, path, done, failed):
                bus.call_async(destination, path, INTERFACE, "Anything", "", (), lambda *_: done(), failed)

            @dbus.service.method(INTERFACE)
            def Release(self):
                bus.release_name(sys.argv[1])

            @dbus.service.method(INTERFACE, async_callbacks=("done", "failed"))
            def Quit(self, done, failed):
                os._exit(0)

        peer = Peer(bus, "/peer")
        bus.request_name(sys.argv[1])
        print("ready", flush=True)
        loop.run()
        """#
}
