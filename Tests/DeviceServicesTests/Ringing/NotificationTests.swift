import DBus
import DeviceServices
import Glibc
import RingwakeCore
import RunLoop
import Testing

extension World {
    static let notifications = "org.freedesktop.Notifications"
    static let notificationsPath = "/org/freedesktop/Notifications"

    func notificationServer(_ capabilities: String = "actions body body-markup") throws -> Mock {
        try startMock(
            ["-t", "notification_daemon", "-p", "{\"capabilities\": \"\(capabilities)\"}"], name: Self.notifications,
            path: Self.notificationsPath)
    }

    /// Alerts that show calls, and ring by a command that writes its process id to "out".
    func alerts(_ bus: DBusService) -> CallAlerts {
        let alerts = CallAlerts(
            runLoop: loop, logger: logger, sessionBus: bus, environment: ["PATH": "/usr/bin:/bin"],
            runtimeDirectory: directory)
        alerts.settings = RingSettings(command: ["/bin/sh", "-c", "echo $$ >> \(path("out")); exec sleep 1000"])
        return alerts
    }

    var rings: [Int32] { lines(of: "out").compactMap { Int32($0) } }
}

extension Mock {
    var shown: [[DBusValue]] { calls(of: "Notify") }
    var closed: [UInt32] { calls(of: "CloseNotification").compactMap { $0.first?.integer() } }

    func press(_ button: String, of id: UInt32) {
        emit("ActionInvoked", World.notifications, "us", [.uint32(id), .string(button)])
    }
}

@Suite("Notifications of calls, against python-dbusmock") struct NotificationTests {
    @Test("A call that rings is shown with its buttons, and is taken back when it does not ring any more")
    func shownAndClosed() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall(title: "<Anna>", detail: "B&B", hasVideo: true)])
        world.runUntil { server.shown.count == 1 }
        let arguments = try #require(server.shown.first)
        try #require(arguments.count == 8)
        #expect(arguments[0].text == "Ringwake")
        #expect(arguments[1].integer(as: UInt32.self) == 0)
        #expect(arguments[3].text == "<Anna>")
        #expect(arguments[4].text == "Incoming video call\nB&amp;B")
        #expect(arguments[5].elements?.map(\.text) == ["answer", "Answer", "decline", "Decline"])
        #expect(arguments[6]["urgency"]?.integer(as: UInt8.self) == 2)
        #expect(arguments[6]["category"]?.text == "call.incoming")
        #expect(arguments[6]["resident"]?.flag == true)
        #expect(arguments[6]["suppress-sound"]?.flag == true)
        #expect(arguments[6]["desktop-entry"]?.text == "ringwake")
        #expect(arguments[7].integer(as: Int32.self) == 0)
        world.runUntil { world.text(of: "ring.pid").contains("notification \(server.owner) 1") }
        alerts.show([])
        world.runUntil { server.closed == [1] }
        world.runUntil { access(world.path("ring.pid"), F_OK) != 0 }
        #expect(alerts.failures.isEmpty)
    }

    @Test("A server without markup and buttons gets plain text and none")
    func plain() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer("body")
        let alerts = world.alerts(world.service())
        alerts.settings = RingSettings()
        alerts.show([try makeCall(detail: "B&B", isWaiting: true)])
        world.runUntil { server.shown.count == 1 }
        let arguments = try #require(server.shown.first)
        try #require(arguments.count == 8)
        #expect(arguments[4].text == "Incoming call, while another goes on\nB&B")
        #expect(arguments[5].elements?.isEmpty == true)
        #expect(arguments[6]["suppress-sound"] == nil, "nothing else makes a sound")
        alerts.close()
    }

    @Test("Buttons answer and decline the call that they are on; what others send does nothing")
    func buttons() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let liar = try world.startMock(
            ["org.example.Liar", World.notificationsPath, World.notifications], name: "org.example.Liar",
            path: World.notificationsPath)
        let alerts = world.alerts(world.service())
        var pressed: [String] = []
        alerts.onAnswer = { pressed.append("answer \($0.id)") }
        alerts.onDecline = { pressed.append("decline \($0.id)") }
        alerts.show([try makeCall("a"), try makeCall("b"), try makeCall("c", canAnswer: false)])
        world.runUntil { world.text(of: "ring.pid").split(separator: "\n").count == 4 }
        #expect(server.shown.map { $0[5].elements?.count } == [4, 4, 2], "one that cannot be answered has one button")
        liar.press("answer", of: 1)
        server.press("answer", of: 99)
        server.press("default", of: 1)
        server.press("answer", of: 3)
        server.emit("ActionInvoked", World.notifications, "s", [.string("answer")])
        server.emit("ActionInvoked", World.notifications, "ss", [.string("1"), .string("answer")])
        server.press("answer", of: 2)
        server.press("decline", of: 1)
        server.press("decline", of: 3)
        world.runUntil { pressed.count >= 3 }
        world.settle()
        #expect(pressed == ["answer b", "decline a", "decline c"])
        alerts.show([])
        world.runUntil { server.closed.sorted() == [1, 2, 3] }
        server.press("answer", of: 2)
        world.settle()
        #expect(pressed.count == 3)
    }

    @Test("A notification that comes after the call's end is closed at once, and the ring does not wait for it")
    func late() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        server.define(
            "Notify", World.notifications, takes: "susssasa{sv}i", gives: "u", "import time; time.sleep(0.7); ret = 77")
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { world.rings.count == 1 }
        // Lets the question about the server be answered, so that the notification is under way.
        world.runUntil { world.loop.statistics.byCause[WakeupCause("dbus-test")] ?? 0 > 0 }
        world.settle()
        alerts.show([])
        world.runUntil { world.rings.allSatisfy { hasEnded($0) } }
        world.runUntil { server.closed == [77] }
    }

    @Test("A call that changes is shown in the same place, also when it changed before the first answer")
    func updated() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall(title: "A")])
        alerts.show([try makeCall(title: "B")])
        world.runUntil { server.shown.count == 2 }
        alerts.show([try makeCall(title: "C")])
        world.runUntil { server.shown.count == 3 }
        #expect(server.shown.map { $0[3].text } == ["A", "B", "C"])
        #expect(server.shown.map { $0[1].integer(as: UInt32.self) } == [0, 1, 1])
        alerts.show([])
        world.runUntil { server.closed.contains(1) }
    }

    @Test("One that the user puts away is not shown again, and it rings on")
    func dismissed() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { world.text(of: "ring.pid").contains("notification") }
        server.emit("NotificationClosed", World.notifications, "uu", [.uint32(1), .uint32(2)])
        world.runUntil { !world.text(of: "ring.pid").contains("notification") }
        alerts.show([try makeCall(title: "Bert")])
        world.settle()
        #expect(server.shown.count == 1)
        #expect(world.rings.allSatisfy { !hasEnded($0) })
        let next = try world.notificationServer()
        world.settle()
        #expect(next.shown.isEmpty)
        alerts.show([])
        world.settle()
        #expect(server.closed.isEmpty && next.closed.isEmpty)
    }

    @Test("A missed call stays until the user has seen it")
    func missed() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.missed(try makeCall(), at: Int64(time(nil)))
        world.runUntil { server.shown.count == 1 }
        let arguments = try #require(server.shown.first)
        #expect(arguments[3].text == "Missed call")
        #expect(arguments[6]["category"]?.text == "call.unanswered")
        #expect(arguments[6]["urgency"]?.integer(as: UInt8.self) == 1)
        #expect(arguments[7].integer(as: Int32.self) == -1)
        alerts.settings.notifications = false
        alerts.missed(try makeCall(), at: 0)
        world.settle()
        #expect(server.shown.count == 1)
        #expect(server.closed.isEmpty)
    }

    @Test("What a daemon that was killed showed is taken back by the next one")
    func leftover() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        try world.write("notification \(server.owner) 5\nnotification \(server.owner) 6\n", to: "ring.pid")
        let alerts = world.alerts(world.service())
        world.runUntil { server.closed.sorted() == [5, 6] }
        alerts.close()
    }

    @Test("When nothing is shown, what other programs show wakes nobody")
    func idle() throws {
        let world = try World()
        try world.startBus()
        let server = try world.notificationServer()
        let alerts = world.alerts(world.service())
        alerts.show([try makeCall()])
        world.runUntil { server.shown.count == 1 }
        alerts.show([])
        world.runUntil { server.closed.count == 1 && access(world.path("ring.pid"), F_OK) != 0 }
        world.settle()
        let before = world.loop.statistics.byCause[WakeupCause("dbus-test")]
        for id in UInt32(0)..<20 {
            server.emit("NotificationClosed", World.notifications, "uu", [.uint32(id), .uint32(1)])
        }
        server.end()
        world.runUntil { world.owner(of: World.notifications) == nil }
        world.settle()
        #expect(world.loop.statistics.byCause[WakeupCause("dbus-test")] == before)
    }
}
