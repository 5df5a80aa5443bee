import Glibc

/// The groups of this process.
enum OwnGroups {
    /// Whether a group of this name is one of them.
    static func contains(_ name: String) -> Bool {
        guard let number = getgrnam(name)?.pointee.gr_gid else { return false }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return number == getegid() || groups.prefix(max(0, Int(count))).contains(number)
    }
}
