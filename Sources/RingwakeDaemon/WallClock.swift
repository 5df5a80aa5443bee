internal import CRingwakeLinux

/// The wall clock, in milliseconds since 1970. Only for what is written down or compared with a peer's dates.
func unixMilliseconds() -> Int64 { ringwake_realtime_milliseconds() }
