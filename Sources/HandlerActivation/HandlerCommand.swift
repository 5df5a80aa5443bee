internal import FileSystem
internal import Glibc
package import RingwakeCore

/// The command that starts an app's handler: an absolute path and its arguments, without a shell.
package enum HandlerCommand {
    /// Checks the command without starting it. `app add` and `--check-config` use it, so that a mistake shows before
    /// the first call.
    /// - Throws: ``RingwakeError/Code/badConfiguration`` if the command is empty, isn't absolute, doesn't exist, is a
    ///   directory or isn't executable.
    package static func check(_ command: [String], of app: AppID) throws(RingwakeError) {
        let path = try checkForm(command, of: app)
        guard access(path, F_OK) == 0, isRegularFile(path) else { throw spawnFailure(errno, path: path, of: app) }
        guard faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 else { throw spawnFailure(errno, path: path, of: app) }
        if let interpreter = FileSystem.interpreter(of: path), access(interpreter, F_OK) != 0 {
            throw spawnFailure(ENOENT, path: path, of: app)
        }
    }

    /// The part of the check that needs no system call. Returns the path.
    static func checkForm(_ command: [String], of app: AppID) throws(RingwakeError) -> String {
        guard let path = command.first, !path.isEmpty else {
            throw problem("its command is empty; write the program's absolute path", of: app)
        }
        guard path.hasPrefix("/") else {
            throw problem(
                "'\(LogText.harmless(path))' is not an absolute path, and neither a shell nor PATH is used to find it;"
                    + " write the whole path", of: app)
        }
        guard !command.contains(where: { $0.utf8.contains(0) }) else {
            throw problem("its command holds a NUL character, which no argument can; leave it out", of: app)
        }
        return path
    }

    /// The error for an `errno` from posix_spawn, with what to do.
    static func spawnFailure(_ errno: Int32, path: String, of app: AppID) -> RingwakeError {
        let name = LogText.harmless(path)
        switch errno {
        case ENOENT where access(path, F_OK) == 0:
            let interpreter = FileSystem.interpreter(of: path).map { " '\(LogText.harmless($0))'" } ?? ""
            return problem(
                "\(name) is there, but its interpreter\(interpreter) is not (the program that its first line names,"
                    + " or its dynamic loader); install that, or correct the first line", of: app)
        case ENOENT, ENOTDIR:
            return problem("there is no file \(name); install it, or correct the path", of: app)
        case EACCES where access(path, F_OK) == 0 && !isRegularFile(path), EISDIR:
            return problem("\(name) is a directory or a device; name the program itself", of: app)
        case EACCES where access(path, F_OK) == 0 && access(path, X_OK) != 0:
            return problem("\(name) is not executable; run chmod +x \(name)", of: app)
        case EACCES, EPERM:
            return problem(
                "the daemon may not execute \(name); let its user search every directory of the path, and see that"
                    + " the file system is not mounted noexec", of: app)
        case ENOEXEC:
            return problem(
                "\(name) is no program for this machine; a script needs a first line such as #!/bin/sh, a binary"
                    + " must be built for this architecture", of: app)
        case E2BIG:
            return problem("its arguments and environment are longer than the system allows; shorten them", of: app)
        case EAGAIN:
            return RingwakeError(
                .limitReached,
                "the handler of \(app) was not started: the limit on processes is reached; raise TasksMax= of the"
                    + " service or `ulimit -u` of its user, or end some")
        default:
            return RingwakeError(
                .system,
                "the handler of \(app) was not started: \(name): \(String(cString: strerror(errno))); free what is"
                    + " short (descriptors, memory) or correct the file")
        }
    }

    /// `why` has to end with what to do.
    private static func problem(_ why: String, of app: AppID) -> RingwakeError {
        RingwakeError(
            .badConfiguration, "the handler of \(app) cannot be started (wake.exec in apps.d/\(app).toml): \(why)")
    }

    /// Sets errno if the result is false.
    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        errno = status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EACCES
        return status.st_mode & S_IFMT == S_IFREG
    }
}
