import Cryptography
package import RingwakeCore

/// A request to a development CA, for one app.
package struct DevelopmentSetup: Sendable {
    /// Apple's hosts, for senders whose host name can't be changed: a hosts file or a proxy leads them here.
    package static let appleNames = [
        "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com",
    ]
    /// The names of this machine that every server certificate has.
    package static let localNames = ["localhost", "127.0.0.1", "::1"]
    /// The longest host name (RFC 1035 section 2.3.4), in bytes.
    private static let maximumNameBytes = 253

    /// The provider certificate.
    package var provider: ProviderCertificateRequest
    /// Host names and addresses of the server beside this machine's own.
    package var serverNames: [String] = []
    /// Whether the server certificate is for Apple's host names too.
    package var includesAppleNames = false
    /// The password of the PKCS#12 file; empty for none.
    package var pkcs12Password = ""
    /// Whether the PKCS#12 file is encrypted with 3DES and SHA-1, for old readers (sideshow/apns2).
    package var isPKCS12Legacy = false
    /// Whether existing certificates of the server and the provider are issued again.
    package var force = false
    /// Whether a server certificate that lacks a name is issued again, for its own names and the missing ones.
    package var addsServerNames = false

    /// The usual setup for `app`.
    package init(app: AppID, teamID: String) {
        provider = ProviderCertificateRequest(app: app, teamID: teamID)
    }

    /// Every name of the server certificate, each once, this machine's first.
    func allServerNames() throws(RingwakeError) -> [SubjectAlternativeName] {
        var names: [SubjectAlternativeName] = []
        for text in Self.localNames + serverNames + (includesAppleNames ? Self.appleNames : []) {
            let name = SubjectAlternativeName(text)
            if case .dns = name, !Self.isHostName(text) {
                throw RingwakeError(
                    .invalidRequest,
                    "'\(text)' is neither a host name nor an address; give names such as phone.example.org "
                        + "(others than ASCII in their xn-- form) or addresses such as 192.0.2.1 and 2001:db8::1.")
            }
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    private static func isHostName(_ text: String) -> Bool {
        guard !text.isEmpty, text.utf8.count <= maximumNameBytes else { return false }
        // A wildcard stands for the first label alone (RFC 6125 section 6.4.3).
        let name = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        return name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && label.utf8.allSatisfy(\.isNameByte)
        }
    }
}
