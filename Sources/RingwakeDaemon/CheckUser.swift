internal import Glibc
internal import RingwakeCore

/// The user that `ringwaked --check-config --as` checks as: what root may read, the daemon's user may not.
enum CheckUser {
    /// Drops root's rights for the rest of the process.
    ///
    /// - Parameter name: a user's name or number.
    /// - Throws: `notFound` for an unknown name, `notPermitted` if this process may not become that user.
    static func become(_ name: String) throws(RingwakeError) {
        let entry = uid_t(name).map { getpwuid($0) } ?? getpwnam(name)
        guard let user = uid_t(name) ?? entry?.pointee.pw_uid else {
            throw RingwakeError(.notFound, "there is no user '\(name)'; name the one that runs the daemon")
        }
        guard user != geteuid() else { return }
        let group = entry?.pointee.pw_gid ?? gid_t(user)
        var groups = [group]
        let hasGroups = entry.map { initgroups($0.pointee.pw_name, group) } ?? setgroups(1, &groups)
        guard hasGroups == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw RingwakeError(
                .notPermitted,
                "this process may not become the user '\(name)': \(String(cString: strerror(errno))); run as root")
        }
    }
}
