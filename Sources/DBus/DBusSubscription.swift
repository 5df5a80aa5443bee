/// Which signals to receive.
package struct DBusMatch: Hashable, Sendable {
    /// The sender, a well-known name or a unique one. Any program can send any signal directly to us; signals from
    /// another sender than the name's owner are dropped.
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

    /// An apostrophe ends the quotes, so it is written outside of them, after a backslash.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
    }

    /// Whether a signal matches, apart from its sender and its arguments.
    func accepts(path: String, interface: String, member: String) -> Bool {
        self.interface == interface && (self.member ?? member) == member && (self.path ?? path) == path
    }
}

/// A received signal.
package struct DBusSignal: Hashable {
    /// The unique name of the sender: the owner of the match's sender.
    package var sender: String
    package var path: String
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]
}

/// A subscription, which lasts until it is cancelled; releasing this object doesn't end it.
package final class DBusSubscription {
    private var body: (() -> Void)?

    init(onCancel body: @escaping () -> Void) {
        self.body = body
    }

    /// Ends the notifications, also of signals that were already received. Idempotent.
    package func cancel() {
        let body = body
        self.body = nil
        body?()
    }
}
