import CRingwakeCurl
import RingwakeCore

/// libcurl, loaded and initialized when it is first used.
///
/// Its functions are called through pointers; they may be used from any thread once loaded.
final class CurlLibrary: Sendable {
    /// Once in the process.
    static let loaded: Result<CurlLibrary, RingwakeError> = load()

    // Sound: written before this object exists, never changed or freed afterwards. The functions of the shim keep
    // nothing of it.
    nonisolated(unsafe) let pointer: UnsafePointer<ringwake_curl>

    private init(_ pointer: UnsafePointer<ringwake_curl>) {
        self.pointer = pointer
    }

    var functions: ringwake_curl { pointer.pointee }

    /// What libcurl says about a code.
    func text(of code: CURLcode) -> String {
        functions.easy_strerror(code).map { String(cString: $0) } ?? "code \(code.rawValue)"
    }

    private static func load() -> Result<CurlLibrary, RingwakeError> {
        // Never freed, like the library.
        let functions = UnsafeMutablePointer<ringwake_curl>.allocate(capacity: 1)
        functions.initialize(to: ringwake_curl())
        var why: UnsafePointer<CChar>?
        guard ringwake_curl_load(functions, &why) else {
            let reason = why.map { String(cString: $0) } ?? "it lacks a function"
            return .failure(
                RingwakeError(.failed, "libcurl cannot be loaded: \(reason); install libcurl 4 with OpenSSL (libcurl4)")
            )
        }
        guard ringwake_curl_start(functions) == CURLE_OK else {
            return .failure(
                RingwakeError(.failed, "libcurl could not be started; is libcurl 4 with OpenSSL installed?"))
        }
        return .success(CurlLibrary(functions))
    }
}
