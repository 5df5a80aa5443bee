public import RingwakeCore

// The words for audio are the same in every library of Ringwake, and lie deeper than this one.

public typealias AudioCategory = RingwakeCore.AudioCategory
public typealias AudioInterruptionReason = RingwakeCore.AudioInterruptionReason
public typealias AudioMode = RingwakeCore.AudioMode
public typealias AudioOption = RingwakeCore.AudioOption
public typealias AudioPort = RingwakeCore.AudioPort
public typealias AudioRoute = RingwakeCore.AudioRoute
public typealias AudioRouteChangeReason = RingwakeCore.AudioRouteChangeReason
public typealias AudioSessionConfiguration = RingwakeCore.AudioSessionConfiguration
public typealias AudioSessionError = RingwakeCore.AudioSessionError
