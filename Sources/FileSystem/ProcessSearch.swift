internal import CRingwakeLinux
internal import Glibc

/// Finds processes by a variable in the environment that they were started with (`/proc/PID/environ`).
package enum ProcessSearch {
    /// Maximum bytes of an environment. Variables after them aren't found.
    private static let maximumBytes = 131_072
    /// More processes than the kernel's default limit on a small machine (`pid_max`). The rest isn't looked at.
    private static let maximumProcesses = 32_768

    /// Calls `body` for each process whose environment can be read, with the value of this variable; nil if it doesn't
    /// have it, or it is empty. It takes about 10 us a process of this user; another user's processes can't be read,
    /// unless by root.
    ///
    /// Processes are listed as the kernel does it: by PID, and those that start meanwhile after them.
    package static func each(withVariable name: String, _ body: (Int32, String?) -> Void) {
        guard let stream = opendir("/proc") else { return }
        defer { closedir(stream) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximumBytes, alignment: 1)
        defer { buffer.deallocate() }
        var count = 0
        while count < maximumProcesses, let entry = readdir(stream) {
            let process = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 1) { Int32(clamping: strtol($0, nil, 10)) }
            }
            guard process > 1 else { continue }
            count += 1
            if let found = variable(name, of: process, buffer) { body(process, found.value) }
        }
    }

    /// The value of a variable; nil if the process is gone, doesn't have it, or it is empty.
    package static func variable(_ name: String, of process: Int32) -> String? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximumBytes, alignment: 1)
        defer { buffer.deallocate() }
        return variable(name, of: process, buffer)?.value
    }

    /// Nil if the environment can't be read, or is empty, as a kernel thread's is.
    private static func variable(
        _ name: String, of process: Int32, _ buffer: UnsafeMutableRawBufferPointer
    ) -> (value: String?, Void)? {
        let file = ringwake_open("/proc/\(process)/environ", O_RDONLY, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let count = FileSystem.retryingWhenInterrupted { read(file, buffer.baseAddress, buffer.count) }
        guard count > 0 else { return nil }
        let entries = UnsafeRawBufferPointer(rebasing: buffer[..<count]).split(separator: 0)
        let prefix = "\(name)="
        let value = entries.first { $0.starts(with: prefix.utf8) }.map {
            String(decoding: $0.dropFirst(prefix.utf8.count), as: UTF8.self)
        }
        return (value.flatMap { $0.isEmpty ? nil : $0 }, ())
    }
}
