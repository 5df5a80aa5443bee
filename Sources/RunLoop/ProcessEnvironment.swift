internal import CRingwakeLinux

/// The process's environment, as far as it is UTF-8.
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
