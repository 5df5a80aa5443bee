/// Which signals.
package struct DBusMatch: Hashable, Sendable {
    /// Who sends them, a well-known name or a unique one. Any program can send any signal straight to us; what comes
    /// from another than the name's owner is dropped.
    package var sender: String
    package var path: String?
    package var interface: String
    package var member: String?
    /// The first argument, a string.
    package var firstArgument: String?

    package init(
        sender: String, path: String? = nil, interface: String, member: String? = nil, firstArgument: String? = nil
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.firstArgument = firstArgument
    }

    /// The match rule (D-Bus Specification, "Match Rules").
    ///
    /// - Throws: `invalidArguments` where a part is not valid.
    func rule() throws(DBusError) -> String {
        try DBusNames.check(sender, isValid: DBusNames.isBusName, "bus name")
        try DBusNames.check(interface, isValid: DBusNames.isInterface, "interface")
        var rule = "type='signal',sender='\(sender)',interface='\(interface)'"
        if let path {
            try DBusNames.check(path, isValid: DBusNames.isObjectPath, "object path")
            rule += ",path='\(path)'"
        }
        if let member {
            try DBusNames.check(member, isValid: DBusNames.isMember, "member")
            rule += ",member='\(member)'"
        }
        if let firstArgument { rule += ",arg0='\(Self.escaped(firstArgument))'" }
        return rule
    }

    /// An apostrophe ends the quotes: it stands outside of them, behind a backslash.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
    }

    /// Whether a signal is one of these, but for its sender and its arguments.
    func accepts(path: String, interface: String, member: String) -> Bool {
        self.interface == interface && (self.member ?? member) == member && (self.path ?? path) == path
    }
}

/// A signal that has come.
package struct DBusSignal: Hashable {
    /// The unique name of who sent it: the owner of the match's sender.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]
}

/// Something that goes on until it is cancelled; letting go of this object does not end it.
package final class DBusSubscription {
    private var body: (() -> Void)?

    init(onCancel body: @escaping () -> Void) {
        self.body = body
    }

    /// Nothing is told any more, not even what has come already. Idempotent.
    package func cancel() {
        let body = body
        self.body = nil
        body?()
    }
}
