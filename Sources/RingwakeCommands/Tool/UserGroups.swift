import CRingwakeLinux
import Glibc

/// The groups of other users.
enum UserGroups {
    /// The group of the system daemon's control socket: what the socket has, or is to have.
    static let control: String = {
        var status = stat()
        guard stat("/run/ringwake/control.sock", &status) == 0, let group = getgrgid(status.st_gid)?.pointee.gr_name
        else { return "ringwake-control" }
        return String(cString: group)
    }()
    /// Of a user with more groups the others are not seen.
    private static let maximum: Int32 = 1024

    /// Whether a process of this user with these further groups may use the system daemon's control socket. True on a
    /// machine without the group.
    static func mayControl(_ user: String, with groups: [String]) -> Bool {
        guard let group = getgrnam(control)?.pointee.gr_gid else { return true }
        if groups.contains(control) || groups.contains(String(group)) { return true }
        guard let entry = uid_t(user).map({ getpwuid($0) }) ?? getpwnam(user) else { return true }
        if entry.pointee.pw_uid == 0 || String(cString: entry.pointee.pw_name) == "ringwake" { return true }
        var own = [gid_t](repeating: 0, count: Int(maximum))
        var count = maximum
        getgrouplist(entry.pointee.pw_name, entry.pointee.pw_gid, &own, &count)
        return own.prefix(max(0, min(Int(count), own.count))).contains(group)
    }
}
