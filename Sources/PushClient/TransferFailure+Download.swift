import CRingwakeCurl
import RingwakeCore

extension TransferFailure {
    /// The error to throw for a file that could not be fetched from `url`.
    func error(fetching url: String, maximumBytes: Int64) -> RingwakeError {
        if code == CURLE_FILESIZE_EXCEEDED || isAnswerTooLong {
            return RingwakeError(
                .limitReached,
                "'\(url)' has more than \(maximumBytes / 1024) KiB, which no list needs; is it the right address?")
        }
        return switch code {
        case CURLE_OPERATION_TIMEDOUT:
            RingwakeError(.timedOut, "'\(url)' did not come in time (\(text)); try again later")
        case CURLE_URL_MALFORMAT:
            RingwakeError(.invalidRequest, "'\(url)' is no URL (\(text))")
        case CURLE_TOO_MANY_REDIRECTS:
            RingwakeError(.unreachable, "'\(url)' leads from one address to the next without end (\(text))")
        case CURLE_UNSUPPORTED_PROTOCOL:
            RingwakeError(
                .unreachable,
                "'\(url)' leads to an address that is not safe to follow (\(text)); import from that address itself if "
                    + "it is to be trusted")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            unreachable(url, "its name cannot be resolved; check the spelling and this machine's network")
        case CURLE_COULDNT_CONNECT:
            unreachable(url, "nothing takes the connection; check the address and this machine's network")
        case CURLE_PEER_FAILED_VERIFICATION:
            unreachable(url, "its certificate is not trusted here; name the CA that issued it with --ca FILE")
        case CURLE_SSL_CACERT_BADFILE:
            RingwakeError(.badCredential, "the CA file cannot be used (\(text)); --ca takes certificates in PEM")
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM:
            unreachable(url, "the connection broke before its end; try again")
        case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            unreachable(url, "what it sends cannot be unpacked; fetch the file by other means")
        default:
            unreachable(url, "it could not be fetched; check the address and this machine's network")
        }
    }

    private func unreachable(_ url: String, _ hint: String) -> RingwakeError {
        RingwakeError(.unreachable, "no list from '\(url)': \(hint) (\(text))")
    }
}
