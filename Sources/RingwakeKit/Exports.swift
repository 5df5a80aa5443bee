// Re-exports the audio vocabulary that all Ringwake libraries share.
@_exported public import enum RingwakeCore.AudioCategory
@_exported public import enum RingwakeCore.AudioMode
@_exported public import enum RingwakeCore.AudioOption
@_exported public import struct RingwakeCore.AudioPort
@_exported public import struct RingwakeCore.AudioRoute
@_exported public import enum RingwakeCore.AudioRouteChangeReason
@_exported public import struct RingwakeCore.AudioSessionConfiguration
@_exported public import struct RingwakeCore.AudioSessionError
