import DBus
import DeviceServices
import Glibc
import RunLoop
import Testing

@Suite("Notification servers that fail, against python-dbusmock") struct NotificationFaultTests {
    @Test("Without a session bus it rings, which is told once")
    func noBus() throws {
        let world = try World()
        let alerts = world.alerts(world.absentService())
        var told: [AlertFailure] = []
        alerts.onFailure = { told.append($0) }
        alerts.show([try makeCall()])
        alerts.missed(try makeCall("b"), at: 0)
        world.runUntil { world.rings.count == 1 && !told.isEmpty }
        world.settle()
        #expect(told.map(\.part) == [.notification])
        alerts.show([])
        world.runUntil { world.rings.allSatisfy { hasEnded($0) } }
    }

    @Test("Without a server it rings; one that appears while it rings shows the call")
    func absent() throws {
        let world = try World()
        try world.startBus()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { alerts.failures[.notification] != nil }
        #expect(alerts.failures[.notification]?.contains("no notification server is there") == true)
        let server = try world.notificationServer()
        world.runUntil { server.shown.count == 1 }
        world.runUntil { alerts.failures.isEmpty }
        alerts.show([])
        world.runUntil { server.closed == [1] }
    }

    @Test("The bus starts a server that is not running")
    func activated() throws {
        let world = try World()
        let template = "/usr/bin/python3 -m dbusmock --session -t notification_daemon"
        try world.startBus(services: [World.notifications: template])
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { world.text(of: "ring.pid").contains("notification") }
        #expect(world.owner(of: World.notifications) != nil)
        alerts.show([])
        world.runUntil { access(world.path("ring.pid"), F_OK) != 0 }
        #expect(alerts.failures.isEmpty)
    }

    @Test("A server that the bus cannot start does not hold up the ring")
    func activationFails() throws {
        let world = try World()
        try world.startBus(services: [World.notifications: "/bin/false"])
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { world.rings.count == 1 && alerts.failures[.notification] != nil }
        alerts.show([])
        world.runUntil { world.rings.allSatisfy { hasEnded($0) } }
    }

    @Test("A server that is killed and comes back shows the call again, and its buttons work")
    func restarted() throws {
        let world = try World()
        try world.startBus()
        let first = try world.notificationServer()
        let alerts = world.alerts(world.service())
        var answers = 0
        alerts.onAnswer = { _ in answers += 1 }
        alerts.show([try makeCall()])
        world.runUntil { world.text(of: "ring.pid").contains("notification") }
        first.end()
        world.runUntil { alerts.failures[.notification] != nil }
        let second = try world.notificationServer()
        world.runUntil { world.text(of: "ring.pid").contains("notification \(second.owner) 1") }
        second.press("answer", of: 1)
        world.runUntil { answers == 1 }
        alerts.show([])
        world.runUntil { second.closed == [1] }
    }

    @Test("A server that takes the place of another shows the call too")
    func replaced() throws {
        let world = try World()
        try world.startBus()
        let first = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { first.shown.count == 1 && world.text(of: "ring.pid").contains("notification") }
        let second = try world.notificationServer()
        world.runUntil { second.shown.count == 1 && world.text(of: "ring.pid").contains(second.owner) }
        #expect(second.shown.first?[1].integer(as: UInt32.self) == 0)
        alerts.show([])
        world.runUntil { second.closed == [1] }
    }

    @Test("A server that takes over while the other is still being asked shows the call")
    func replacedMeanwhile() throws {
        let world = try World()
        try world.startBus()
        let first = try world.notificationServer()
        first.define(
            "Notify", World.notifications, takes: "susssasa{sv}i", gives: "u",
            "import time; open('\(world.path("asked"))', 'w').close(); time.sleep(3); ret = 77")
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { access(world.path("asked"), F_OK) == 0 }
        let second = try world.notificationServer()
        world.runUntil { world.text(of: "ring.pid").contains("notification \(second.owner) 1") }
        alerts.show([])
        world.runUntil { second.closed == [1] }
    }

    @Test("A server that dies of each notification is not started for ever")
    func diesAlways() throws {
        let world = try World()
        try world.write(
            """
            import dbus, dbus.service, os
            from dbus.mainloop.glib import DBusGMainLoop
            from gi.repository import GLib
            DBusGMainLoop(set_as_default=True)
            class Server(dbus.service.Object):
                @dbus.service.method('org.freedesktop.Notifications', out_signature='as')
                def GetCapabilities(self):
                    return ['actions']
                @dbus.service.method('org.freedesktop.Notifications', in_signature='susssasa{sv}i', out_signature='u')
                def Notify(self, name, replaces, icon, summary, body, actions, hints, timeout):
                    open('\(world.path("died"))', 'a').write('x\\n')
                    GLib.timeout_add(50, os._exit, 1)
                    return 9
            bus = dbus.SessionBus()
            name = dbus.service.BusName('org.freedesktop.Notifications', bus)
            Server(bus, '/org/freedesktop/Notifications')
            GLib.MainLoop().run()
            """, to: "server.py")
        try world.startBus(services: [World.notifications: "/usr/bin/python3 \(world.path("server.py"))"])
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { world.lines(of: "died").count == 4 && world.owner(of: World.notifications) == nil }
        for _ in 0..<5 { world.settle() }
        #expect(world.lines(of: "died").count == 4, "once, and three times again")
        #expect(world.rings.allSatisfy { !hasEnded($0) })
        alerts.close()
    }

    @Test(
        "A server that refuses, or answers nonsense, is one that shows nothing",
        arguments: [
            "raise dbus.exceptions.DBusException('no', name='org.freedesktop.DBus.Error.AccessDenied')", "",
        ])
    func refuses(_ code: String) throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        server.define("Notify", World.notifications, takes: "susssasa{sv}i", gives: code.isEmpty ? "" : "u", code)
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { alerts.failures[.notification] != nil }
        #expect(world.rings.allSatisfy { !hasEnded($0) })
        alerts.show([])
        world.runUntil { world.rings.allSatisfy { hasEnded($0) } }
        #expect(server.shown.count == 1)
        #expect(server.closed.isEmpty)
    }

    @Test("The bus is killed while it rings: it rings on, and stops at its end")
    func busKilled() throws {
        let world = try World()
        let bus = try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { server.shown.count == 1 && world.rings.count == 1 }
        world.end(bus)
        world.settle()
        #expect(world.rings.allSatisfy { !hasEnded($0) })
        alerts.show([try makeCall(), try makeCall("b")])
        world.settle()
        alerts.show([])
        world.runUntil { world.rings.allSatisfy { hasEnded($0) } }
        world.settle()
        #expect(alerts.failures[.notification] != nil)
    }
}
