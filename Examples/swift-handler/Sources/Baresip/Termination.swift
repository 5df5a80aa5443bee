@preconcurrency import Dispatch
import Glibc

/// Calls `body` at SIGTERM, which then no longer ends the process.
///
/// This is a separate function because code in main.swift belongs to the main thread, and signals arrive on another.
public func onTermination(_ body: @escaping @Sendable () async -> Void) {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    // The source lives as long as the process.
    source.setEventHandler {
        withExtendedLifetime(source) { _ = Task { await body() } }
    }
    source.activate()
}
