import CRingwakeCurl
import Glibc
import RingwakeCore

/// A failed transfer as libcurl reports it, and its description for people.
struct TransferFailure {
    let code: CURLcode
    /// libcurl's own words.
    let text: String
    /// errno of the failed connection; 0 if there is none.
    let systemError: Int32
    /// OpenSSL's verdict on the server's certificate: X509_V_ERR_*, see X509_verify_cert_error_string(3).
    let verification: Int
    let isAnswerTooLong: Bool

    /// The error to throw for a push to `server`.
    func error(to server: PushServer) -> RingwakeError {
        let place = server.connectTo.map { "\(server.authority) (connecting by \($0.text))" } ?? server.authority
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return RingwakeError(
                .timedOut,
                "\(place) did not answer in time (\(text)); is it busy or behind a firewall? "
                    + "--timeout gives it longer")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return unreachable(place, "its name cannot be resolved; check the spelling and this machine's network")
        case CURLE_COULDNT_CONNECT:
            return unreachable(place, connectHint)
        case CURLE_PEER_FAILED_VERIFICATION:
            return unreachable(place, verificationHint)
        case CURLE_SSL_CACERT_BADFILE:
            return RingwakeError(
                .badCredential,
                "the CA file '\(server.caFile ?? "")' cannot be used (\(text)); "
                    + "--ca takes certificates in PEM")
        case CURLE_SSL_CERTPROBLEM:
            return RingwakeError(.badCredential, "the provider certificate cannot be used (\(text)); \(credentialHint)")
        case CURLE_SSL_CONNECT_ERROR:
            return unreachable(place, handshakeHint)
        case CURLE_WRITE_ERROR where isAnswerTooLong:
            return unreachable(
                place, "its answer is longer than \(AnswerReceiver.maximumBodyBytes) bytes; it is no push service")
        default:
            return unreachable(place, brokenHint)
        }
    }

    private func unreachable(_ place: String, _ hint: String) -> RingwakeError {
        RingwakeError(.unreachable, "no answer from \(place): \(hint) (\(text))")
    }

    private var connectHint: String {
        switch systemError {
        case ECONNREFUSED: "nothing listens there; start ringwaked, or check --host and --port"
        case ENETUNREACH, EHOSTUNREACH: "no route leads there; check this machine's network"
        case ETIMEDOUT: "nothing answered; a firewall may drop the connection"
        default: "the connection failed; check --host, --port and this machine's network"
        }
    }

    private var verificationHint: String {
        // Numbers of openssl/x509_vfy.h, which this module does not link.
        switch verification {
        case 2, 18, 19, 20, 21:
            "its certificate is not trusted here; name the CA that issued it with --ca FILE"
        case 9: "its certificate is not valid yet; check both machines' clocks"
        case 10: "its certificate has expired; renew it on the server"
        default:
            text.contains("subject name") || text.contains("host name")
                ? "its certificate is for another name; use that name as --host, with --connect-to if need be"
                : "its certificate was not accepted; 'ringwake certs show' explains a certificate file"
        }
    }

    private var credentialHint: String {
        if text.contains("does not match") || text.contains("mismatch") {
            return "the key belongs to another certificate; name the right one with --cert-key"
        }
        if text.contains("private key") {
            return "the key is missing, has another password, or is not PEM; see --password-file and --cert-key"
        }
        return "check that the file holds a certificate in PEM with its key, or use --cert-key"
    }

    private var handshakeHint: String {
        if text.contains("wrong version number") || text.contains("packet length") || text.contains("http request") {
            return "that port does not speak TLS; check --port"
        }
        if text.contains("no application protocol") {
            return "it does not offer HTTP/2; check --host and --port"
        }
        return alertHint ?? "TLS could not be agreed; check --host and --port"
    }

    /// The connection broke after it was established. With TLS 1.3, the server refuses a client certificate only
    /// then.
    private var brokenHint: String {
        alertHint ?? "the connection broke before the answer, so the push may have been taken; "
            + "send it again with the same --id"
    }

    /// What the server's TLS alert means (RFC 8446 § 6.2); nil when it sent none.
    private var alertHint: String? {
        guard text.contains("alert") else { return nil }
        if text.contains("certificate required") {
            return "it takes senders with a client certificate only; name yours with --cert"
        }
        if text.contains("certificate") || text.contains("unknown ca") || text.contains("handshake failure") {
            return "it refused the client certificate; 'ringwake certs show FILE' says who issued it and until when"
        }
        return nil
    }
}
