import Glibc

/// Prints a line without buffering: a handler's output goes to the daemon's log.
@Sendable public func say(_ line: String) {
    var text = line + "\n"
    text.withUTF8 { bytes in
        // A closed log must not end a call.
        _ = write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    }
}
