import CRingwakeNGHTTP2
import RingwakeCore

/// The callbacks and options of a listener's sessions; nghttp2 copies both into each session.
nonisolated final class HTTP2SessionTemplate {
    let callbacks: OpaquePointer
    let options: OpaquePointer

    /// Maximum unsent acknowledgements of PING and SETTINGS. Above this, nghttp2 closes the connection (CVE-2019-9512).
    private static let maximumOutboundAcknowledgements = 1000
    /// Maximum entries of one SETTINGS frame (CVE-2020-11080).
    private static let maximumSettings = 32
    /// nghttp2's own limit also counts resets of answered streams, which libcurl sends after each answer. So it is set
    /// too high to matter, and we count the others (``HTTP2Session/resetReceived(streamID:)``).
    private static let resetsPerSecond: UInt64 = 1 << 20

    init() throws(RingwakeError) {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks, nghttp2_option_new(&options) == 0,
            let options
        else {
            nghttp2_session_callbacks_del(callbacks)
            throw RingwakeError(.system, "no memory for HTTP/2; free some and start again")
        }
        self.callbacks = callbacks
        self.options = options
        nghttp2_option_set_max_outbound_ack(options, HTTP2SessionTemplate.maximumOutboundAcknowledgements)
        nghttp2_option_set_max_settings(options, HTTP2SessionTemplate.maximumSettings)
        nghttp2_option_set_stream_reset_rate_limit(
            options, HTTP2SessionTemplate.resetsPerSecond, HTTP2SessionTemplate.resetsPerSecond)
        // We don't need closed streams, because priorities are ignored.
        nghttp2_option_set_no_closed_streams(options, 1)
        HTTP2Callbacks.install(in: callbacks)
    }

    deinit {
        nghttp2_session_callbacks_del(callbacks)
        nghttp2_option_del(options)
    }
}
