@preconcurrency import Dispatch
import Glibc

/// Calls `body` when the process is told to end (SIGTERM), which does not end it any more.
///
/// A function of its own: what stands in main.swift belongs to the main thread, and signals are told on another.
public func onTermination(_ body: @escaping @Sendable () async -> Void) {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    // It lives as long as the process.
    source.setEventHandler {
        withExtendedLifetime(source) { _ = Task { await body() } }
    }
    source.activate()
}
