@_exported public import enum RingwakeCore.AudioCategory
@_exported public import enum RingwakeCore.AudioInterruptionReason
@_exported public import enum RingwakeCore.AudioMode
@_exported public import enum RingwakeCore.AudioOption
@_exported public import enum RingwakeCore.AudioRouteChangeReason
@_exported public import struct RingwakeCore.AudioPort
@_exported public import struct RingwakeCore.AudioRoute
@_exported public import struct RingwakeCore.AudioSessionConfiguration
@_exported public import struct RingwakeCore.AudioSessionError

// The audio vocabulary is shared by Ringwake's libraries, and defined in another module. It is exported, so that
// programs which import each module see its members (MemberImportVisibility, SE-0444); the aliases put it on this
// library's pages.

public typealias AudioCategory = RingwakeCore.AudioCategory
public typealias AudioInterruptionReason = RingwakeCore.AudioInterruptionReason
public typealias AudioMode = RingwakeCore.AudioMode
public typealias AudioOption = RingwakeCore.AudioOption
public typealias AudioPort = RingwakeCore.AudioPort
public typealias AudioRoute = RingwakeCore.AudioRoute
public typealias AudioRouteChangeReason = RingwakeCore.AudioRouteChangeReason
public typealias AudioSessionConfiguration = RingwakeCore.AudioSessionConfiguration
public typealias AudioSessionError = RingwakeCore.AudioSessionError
