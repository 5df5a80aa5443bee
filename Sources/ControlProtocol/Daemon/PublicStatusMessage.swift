/// What the status socket tells every local user of the daemon: no caller, path, address or gateway.
package struct PublicStatusMessage: Codable, Equatable, Sendable {
    package var schema = ControlAPI.schema
    /// The version of the daemon.
    package var version: String
    /// Milliseconds since it started, on the boot clock.
    package var uptimeMs: Int64
    /// Connection status of the daemon; nil if unknown.
    package var connection: ConnectionMessage?
    /// The daemon's network namespace, as SO_NETNS_COOKIE; nil if unknown.
    package var networkNamespace: UInt64?
    /// For a handler: whether data of the class `complete` can be read; nil for others.
    package var protectedDataAvailable: Bool?

    package init(
        version: String, uptimeMs: Int64, connection: ConnectionMessage?, networkNamespace: UInt64? = nil
    ) {
        self.version = version
        self.uptimeMs = uptimeMs
        self.connection = connection
        self.networkNamespace = networkNamespace
    }
}
