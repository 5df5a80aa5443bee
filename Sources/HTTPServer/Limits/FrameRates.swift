import CRingwakeNGHTTP2
import RunLoop

/// Counts the frames of a connection in fixed periods, and knows how many of each type an honest client sends.
///
/// Each frame costs this end time, and PING and SETTINGS are answered. So a client that sends frames without requests is
/// closed: PING, SETTINGS, empty DATA and PRIORITY floods (CVE-2019-9512, -9515, -9518, -9513), CONTINUATION flood
/// (CVE-2024-27316).
nonisolated struct FrameRates {
    private static let period: Duration = .seconds(30)
    /// Maximum PING frames in a period. Clients send one every few seconds at most.
    private static let maximumPings = 300
    /// Maximum SETTINGS frames in a period, with acknowledgements.
    private static let maximumSettings = 100
    /// Maximum frames of other kinds in a period without a request, and more for each request. A payload comes in one or
    /// two DATA frames; nghttp sends five PRIORITY frames at its start; a client with small windows sends WINDOW_UPDATE
    /// for each answer.
    private static let maximumWithoutRequest = 1000
    private static let maximumPerRequest = 16

    private var periodEnd = BootClock.Instant(nanoseconds: .min)
    private var requests = 0
    private var pings = 0
    private var settings = 0
    private var data = 0
    private var others = 0

    /// Begins a period if the last one has ended. To be called before frames are counted.
    mutating func begin(at now: BootClock.Instant) {
        guard now >= periodEnd else { return }
        self = FrameRates()
        periodEnd = now.advanced(by: Self.period)
    }

    /// Counts one frame. The counts can't overflow: a period ends before.
    mutating func count(type: UInt32) {
        switch type {
        case NGHTTP2_HEADERS.rawValue: requests += 1
        case NGHTTP2_PING.rawValue: pings += 1
        case NGHTTP2_SETTINGS.rawValue: settings += 1
        case NGHTTP2_DATA.rawValue: data += 1
        case NGHTTP2_RST_STREAM.rawValue: break  // See GlitchCounter.
        default: others += 1
        }
    }

    /// The bound that is exceeded.
    var exceeded: ConnectionBound? {
        let allowed = Self.maximumWithoutRequest + Self.maximumPerRequest * requests
        if pings > Self.maximumPings { return .pings }
        if settings > Self.maximumSettings { return .settings }
        if data > allowed { return .dataFrames }
        return others > allowed ? .otherFrames : nil
    }
}
