@testable import CallAudio
import Glibc
import RunLoop
import Testing

/// A script that speaks an audio server's protocol, and a client of it.
final class ImitatedServer {
    let runLoop: RunLoop
    let program: TestProgram
    let client: PulseClient
    let socket: String
    private let folder: String

    init(_ script: String, _ behaviour: String) throws {
        runLoop = try RunLoop()
        var template = Array("/tmp/ringwake-audio-XXXXXX".utf8CString)
        folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        socket = folder + "/native"
        let stream = try #require(fopen(folder + "/server.py", "w"))
        fputs(script, stream)
        fclose(stream)
        let program = try TestProgram(
            ["/usr/bin/python3", folder + "/server.py", socket, behaviour], environment: [], runLoop)
        self.program = program
        client = PulseClient(runLoop, .server("unix:" + socket))
        try #require(runLoop.drive { program.output.contains("ready") }, "\(program.output)")
    }

    convenience init(_ behaviour: HostileServerScript.Behaviour) throws {
        try self.init(HostileServerScript.text, behaviour.rawValue)
    }

    convenience init(_ behaviour: CardServerScript.Behaviour) throws {
        try self.init(CardServerScript.text, behaviour.rawValue)
    }

    func stop() {
        program.stop()
        unlink(socket)
        unlink(folder + "/server.py")
        rmdir(folder)
    }
}
