import Glibc
import RunLoop
import Testing

@testable import CallAudio

/// Where a server is looked for, and how its coming is seen.
struct PulseAddressTests {
    @Test("The sockets of a list of servers, without what is no socket")
    func sockets() {
        let list = "{0123}unix:/run/a /run/b tcp:host:4713 host unix:relative tcp6:[::1] {9}/c"
        #expect(PulseAddress.sockets(in: list) == ["/run/a", "/run/b", "/c"])
        #expect(PulseAddress.sockets(in: "{broken") == [])
    }

    @Test("The environment decides, in libpulse's order")
    func standard() {
        func sockets(_ environment: [String: String], _ lastTried: String? = nil) -> [String] {
            PulseAddress.standard.sockets(environment: environment, user: 7, lastTried: lastTried)
        }
        #expect(sockets(["PULSE_SERVER": "unix:/a", "XDG_RUNTIME_DIR": "/x"]) == ["/a"])
        #expect(sockets(["PULSE_SERVER": "", "XDG_RUNTIME_DIR": "/x"]) == ["/x/pulse/native"])
        #expect(sockets(["PULSE_RUNTIME_PATH": "/p", "XDG_RUNTIME_DIR": "/x"]) == ["/p/native"])
        #expect(sockets([:]) == ["/run/user/7/pulse/native"])
        #expect(sockets(["XDG_RUNTIME_DIR": "relative"]) == ["/run/user/7/pulse/native"])
        // Of the last that was tried only what can appear soon.
        #expect(sockets([:], "unix:/tmp/named") == ["/run/user/7/pulse/native", "/tmp/named"])
        #expect(sockets([:], "/no/such/directory/native") == ["/run/user/7/pulse/native"])
        #expect(PulseAddress.server("tcp:host").sockets(environment: [:], user: 7, lastTried: nil) == [])
    }

    @Test("The watch tells of the socket, of a directory on the way, and of nothing else")
    func watch() throws {
        var template = Array("/tmp/ringwake-audio-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer {
            unlink(folder + "/a/b/native")
            unlink(folder + "/other")
            for directory in ["/a/b", "/a", ""] { rmdir(folder + directory) }
        }
        let loop = try RunLoop()
        var count = 0
        let watch = try SocketWatch(runLoop: loop, sockets: [folder + "/a/b/native"]) { count += 1 }
        close(creat(folder + "/other", 0o600))
        loop.drive(for: .milliseconds(20))
        #expect(count == 0)
        mkdir(folder + "/a", 0o700)
        #expect(loop.drive { count > 0 })
        loop.drive(for: .milliseconds(20))
        count = 0
        mkdir(folder + "/a/b", 0o700)
        #expect(loop.drive { count > 0 })
        loop.drive(for: .milliseconds(20))
        count = 0
        close(creat(folder + "/a/b/native", 0o600))
        #expect(loop.drive { count > 0 })
        loop.drive(for: .milliseconds(20))
        count = 0
        // Taken away, directory and all, and made again.
        unlink(folder + "/a/b/native")
        rmdir(folder + "/a/b")
        loop.drive(for: .milliseconds(20))
        mkdir(folder + "/a/b", 0o700)
        loop.drive(for: .milliseconds(20))
        count = 0
        close(creat(folder + "/a/b/native", 0o600))
        #expect(loop.drive { count > 0 })
        watch.close()
    }

    @Test("Times of libpulse, on either clock, in the past and in the future")
    func times() {
        var wall = timespec()
        clock_gettime(CLOCK_REALTIME, &wall)
        let later = PulseTime.duration(
            untilSeconds: wall.tv_sec + 30, microseconds: Int(wall.tv_nsec / 1_000))
        #expect(later > .seconds(29) && later <= .seconds(30) + .microseconds(1))
        #expect(PulseTime.duration(untilSeconds: wall.tv_sec - 30, microseconds: 0) < .zero)
        var monotonic = timespec()
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        let soon = PulseTime.duration(
            untilSeconds: monotonic.tv_sec + 5, microseconds: 999_999 | PulseTime.monotonicFlag)
        #expect(soon > .seconds(4) && soon < .seconds(6))
    }
}
