import Glibc

/// Runs a program and waits for it, with its input and output in files.
enum Tool {
    struct Result {
        let status: Int32
        let output: [UInt8]
        let errors: String
        var text: String { String(decoding: output, as: UTF8.self) }
    }

    struct Failure: Error { let text: String }

    static func run(_ name: String, _ arguments: [String], input: [UInt8] = []) throws -> Result {
        try start(name, arguments, input: input).wait()
    }

    /// A program that runs.
    struct Running {
        fileprivate let pid: pid_t
        fileprivate let output: PEMFile
        fileprivate let errors: PEMFile
        /// Kept until the program has ended.
        fileprivate let input: PEMFile

        func wait() throws -> Result {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return Result(
                status: status, output: try contents(of: output.path),
                errors: String(decoding: try contents(of: errors.path), as: UTF8.self))
        }
    }

    static func start(_ name: String, _ arguments: [String], input: [UInt8] = []) throws -> Running {
        let source = try PEMFile(input)
        let output = try PEMFile([])
        let errors = try PEMFile([])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, source.path, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY, 0)
        var argv: [UnsafeMutablePointer<CChar>?] = ([name] + arguments).map { strdup($0) }
        argv.append(nil)
        defer { for argument in argv { free(argument) } }
        var pid: pid_t = 0
        let outcome = posix_spawnp(&pid, name, &actions, nil, argv, environ)
        guard outcome == 0 else { throw Failure(text: "\(name): \(String(cString: strerror(outcome)))") }
        return Running(pid: pid, output: output, errors: errors, input: source)
    }

    static func contents(of path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(text: path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
            bytes.append(contentsOf: buffer.prefix(count))
        }
        return bytes
    }
}
