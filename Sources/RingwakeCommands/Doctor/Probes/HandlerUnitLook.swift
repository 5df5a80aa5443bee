import FileSystem
import Glibc

/// The unit of a handler, as systemd would start it.
struct HandlerUnitLook: Equatable {
    /// `loaded`, `not-found`, `bad-setting`, `masked`, ...
    var load: String
    /// The file that has the unit; empty if there is none.
    var file = ""
    /// Settings of a loaded unit that keep it from starting, each with what is wrong with it and what to do.
    var faults: [Fault] = []
    /// Whether a loaded unit of the system runs as root.
    var isRoot = false

    struct Fault: Equatable {
        let setting: String
        let problem: String
        let hint: String
    }
}

extension HandlerUnitLook {
    /// What systemd has to be asked for.
    static let properties = [
        "LoadState", "FragmentPath", "ExecStart", "User", "Group", "SupplementaryGroups", "DynamicUser",
        "RootDirectory",
        "RootImage",
    ]
    /// The instance of a template that is looked at. A setting that contains it is another one for each call.
    static let instance = "ringwakedoctor"

    /// - Parameter values: of ``properties``; nil if systemd did not report the first.
    init?(_ values: [String: String]) {
        guard let load = values["LoadState"] else { return nil }
        self.init(load: load, file: values["FragmentPath"] ?? "")
        guard load == "loaded" else { return }
        let value = { (name: String) in
            values[name].flatMap { $0.isEmpty || $0.contains(HandlerUnitLook.instance) ? nil : $0 }
        }
        if values["DynamicUser"] != "yes" {
            isRoot = ["", "root", "0"].contains(values["User"] ?? "")
            if let user = value("User"), uid_t(user) == nil, getpwnam(user) == nil {
                faults.append(Fault(setting: "User=", problem: "there is no user \(user)", hint: "create that user"))
            }
            if let group = value("Group"), gid_t(group) == nil, getgrnam(group) == nil {
                faults.append(
                    Fault(setting: "Group=", problem: "there is no group \(group)", hint: "create that group"))
            }
            let groups =
                [value("Group") ?? ""] + (value("SupplementaryGroups") ?? "").split(separator: " ").map(String.init)
            if let user = value("User"), !UserGroups.mayControl(user, with: groups) {
                faults.append(
                    Fault(
                        setting: "SupplementaryGroups=", problem: "the user \(user) may not use the control socket",
                        hint: "add \(UserGroups.control) to it"))
            }
        }
        // Its path is one in another root folder then.
        guard value("RootDirectory") == nil, value("RootImage") == nil, let command = value("ExecStart") else { return }
        // { path=/usr/bin/phone-handler ; argv[]=/usr/bin/phone-handler ; ... }
        let path = command.split(separator: " ; ")[0].dropFirst("{ path=".count)
        // systemd searches for a name without a slash by itself.
        if path.hasPrefix("/"), let fault = FileLook.fault(ofProgram: String(path)) {
            faults.append(Fault(setting: "ExecStart=", problem: fault.problem, hint: fault.hint))
        }
    }
}
