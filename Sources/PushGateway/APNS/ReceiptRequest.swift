import HTTPServer
package import RingwakeCore

/// A sender's question what became of its push: `GET /3/device/TOKEN/pushes/ID`. Not Apple's.
package nonisolated struct ReceiptRequest {
    package let app: AppID
    package let destination: PushDestination
    /// The sender's team.
    package let sender: String
    /// `apns-id`
    package let pushID: String
}

/// The two parts of such a path.
nonisolated struct ReceiptPath {
    let tokenText: String
    let pushID: String

    /// Nil for any other request.
    init?(_ request: HTTPRequest) {
        let prefix = "/3/device/"
        guard request.method == "GET", request.path.hasPrefix(prefix) else { return nil }
        let parts = request.path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "pushes", !parts[2].isEmpty, parts[2].utf8.count <= 64 else { return nil }
        tokenText = String(parts[0])
        pushID = String(parts[2])
    }
}
