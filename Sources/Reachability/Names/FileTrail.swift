internal import CRingwakeLinux
internal import Glibc

/// The file that a path leads to now, and everything on the way whose change makes it lead elsewhere.
struct FileTrail: Equatable {
    /// Maximum symbolic links, as in the kernel (path_resolution(7)).
    static let maximumLinks = 40
    /// Maximum bytes of a link's target, PATH_MAX.
    private static let maximumTarget = 4_096

    /// Something to watch, by a path without further symbolic links.
    struct Step: Equatable {
        enum Kind {
            case link
            case file
            /// The directory in which the file, or a link to it, is missing.
            case directory
        }

        let path: String
        let kind: Kind
    }

    /// Identifies one state of a file.
    struct Signature: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let modified: [Int]
    }

    private(set) var steps: [Step] = []
    /// Nil when there is no file.
    private(set) var signature: Signature?

    /// Follows the path from directory to directory: a link to a directory may be swapped as well.
    init(_ path: String) {
        // No file has such a name.
        guard !path.utf8.contains(0) else { return }
        var reached = path.hasPrefix("/") ? "/" : "."
        var rest = Array(Self.components(path).reversed())
        while let component = rest.popLast() {
            let next = reached == "/" ? "/\(component)" : "\(reached)/\(component)"
            var status = stat()
            guard lstat(next, &status) == 0 else {
                signature = nil
                steps.append(Step(path: reached, kind: .directory))
                return
            }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                reached = next
                signature = Signature(status)
                continue
            }
            steps.append(Step(path: next, kind: .link))
            signature = nil
            // A circle of links leads nowhere until one of them changes.
            guard steps.count <= Self.maximumLinks, let target = Self.target(of: next) else { return }
            if target.hasPrefix("/") { reached = "/" }
            rest += Self.components(target).reversed()
        }
        steps.append(Step(path: reached, kind: .file))
    }

    private static func components(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }
    }

    private static func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: maximumTarget)
        let count = buffer.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { readlink(link, $0, buffer.count) } ?? -1
        }
        guard count > 0, count < buffer.count else { return nil }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }
}

extension FileTrail.Signature {
    fileprivate init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        // Include the change time: no program can set it back.
        modified = [
            Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec), Int(status.st_ctim.tv_sec),
            Int(status.st_ctim.tv_nsec),
        ]
    }
}
