internal import CRingwakeLinux

/// The process's environment. Invalid UTF-8 becomes U+FFFD.
package func processEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    guard var next = ringwake_environment() else { return variables }
    while let entry = next.pointee {
        let text = String(cString: entry)
        if let equals = text.firstIndex(of: "=") {
            variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        next += 1
    }
    return variables
}

/// The variables that a child may inherit. Without those that are meant for this process by its service manager, and
/// without invalid ones.
///
/// With the manager's variables a child would use this process's sockets, or report it as ready, alive or stopping.
package func inheritable(_ variables: [String: String]) -> [String: String] {
    let managers: Set = ["NOTIFY_SOCKET", "MAINPID", "INVOCATION_ID", "JOURNAL_STREAM"]
    return variables.filter { name, value in
        !managers.contains(name) && !name.hasPrefix("LISTEN_") && !name.hasPrefix("WATCHDOG_") && !name.isEmpty
            && !name.utf8.contains(UInt8(ascii: "=")) && !"\(name)\(value)".utf8.contains(0)
    }
}
