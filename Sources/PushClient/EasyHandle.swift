import CRingwakeCurl
import Glibc
import RingwakeCore

/// Receives an answer from libcurl.
protocol TransferReceiver: AnyObject {
    /// Discards the previous answer.
    func reset()
    /// Takes a piece of the body; false ends the transfer.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool
    /// Takes one line of the head with its CRLF: the status line, or `name: value`.
    func takeHeader(_ bytes: UnsafeRawBufferPointer)
    /// Whether the receiver ended the transfer because the body was too long.
    var isTooLong: Bool { get }
}

/// One libcurl easy handle: owns it, its error buffer, its lists and the receiver of its answers.
///
/// The connection stays open between transfers; libcurl finds it again.
final class EasyHandle {
    /// Boxes the receiver, because libcurl keeps its address.
    private let box: ReceiverBox
    let handle: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var lists: [CURLoption.RawValue: UnsafeMutablePointer<curl_slist>] = [:]

    private let curl: CurlLibrary

    init(receiver: any TransferReceiver) throws(RingwakeError) {
        curl = try CurlLibrary.loaded.get()
        guard let handle = curl.functions.easy_init() else {
            throw RingwakeError(.failed, "libcurl could not be started; is libcurl 4 with OpenSSL installed?")
        }
        self.handle = handle
        box = ReceiverBox(receiver)
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try check(ringwake_curl_set_pointer(curl.pointer, handle, CURLOPT_ERRORBUFFER, errorText), CURLOPT_ERRORBUFFER)
        let context = Unmanaged.passUnretained(box).toOpaque()
        try check(
            ringwake_curl_set_receiver(curl.pointer, handle, CURLOPT_WRITEFUNCTION, receiveBody), CURLOPT_WRITEFUNCTION)
        try check(ringwake_curl_set_pointer(curl.pointer, handle, CURLOPT_WRITEDATA, context), CURLOPT_WRITEDATA)
        try check(
            ringwake_curl_set_receiver(curl.pointer, handle, CURLOPT_HEADERFUNCTION, receiveHeader),
            CURLOPT_HEADERFUNCTION)
        try check(ringwake_curl_set_pointer(curl.pointer, handle, CURLOPT_HEADERDATA, context), CURLOPT_HEADERDATA)
    }

    deinit {
        // The handle first: it refers to the lists and the error buffer.
        curl.functions.easy_cleanup(handle)
        for list in lists.values {
            curl.functions.slist_free_all(list)
        }
        errorText.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) throws(RingwakeError) {
        try check(ringwake_curl_set_long(curl.pointer, handle, option, value), option)
    }

    /// Sets an option of the type curl_off_t.
    func setOffset(_ option: CURLoption, _ value: Int64) throws(RingwakeError) {
        try check(ringwake_curl_set_offset(curl.pointer, handle, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String?) throws(RingwakeError) {
        try check(ringwake_curl_set_text(curl.pointer, handle, option, value), option)
    }

    /// Sets the list of an option. libcurl uses a list until another replaces it, so the previous one is freed only
    /// then.
    func set(_ option: CURLoption, _ values: [String]) throws(RingwakeError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for value in values {
            guard let longer = curl.functions.slist_append(list, value) else {
                curl.functions.slist_free_all(list)
                throw RingwakeError(.failed, "out of memory while the request was written")
            }
            list = longer
        }
        try check(ringwake_curl_set_list(curl.pointer, handle, option, list), option)
        curl.functions.slist_free_all(lists.removeValue(forKey: option.rawValue))
        lists[option.rawValue] = list
    }

    /// Sets the contents that libcurl would otherwise read from a file. libcurl copies the bytes.
    func setBlob(_ option: CURLoption, _ bytes: [UInt8]) throws(RingwakeError) {
        var bytes = bytes
        let result = bytes.withUnsafeMutableBytes {
            ringwake_curl_set_blob(curl.pointer, handle, option, $0.baseAddress, $0.count)
        }
        try check(result, option)
    }

    /// Sets the body of the next POST; libcurl copies it.
    func setBody(_ bytes: [UInt8]) throws(RingwakeError) {
        // Set the size first, or libcurl would copy only up to a zero byte.
        try check(
            ringwake_curl_set_offset(curl.pointer, handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)),
            CURLOPT_POSTFIELDSIZE_LARGE)
        let result = bytes.withUnsafeBytes { body in
            body.withMemoryRebound(to: CChar.self) { text in
                // An empty array has no address, and NULL would make libcurl read a body from standard input.
                withUnsafePointer(to: CChar(0)) { nothing in
                    ringwake_curl_set_text(curl.pointer, handle, CURLOPT_COPYPOSTFIELDS, text.baseAddress ?? nothing)
                }
            }
        }
        try check(result, CURLOPT_COPYPOSTFIELDS)
    }

    /// Runs the transfer. Returns why it failed; nil if an answer arrived.
    func perform() -> TransferFailure? {
        prepare()
        return failure(curl.functions.easy_perform(handle))
    }

    /// Discards what the last transfer left. For a transfer that ``PostThread`` runs.
    func prepare() {
        box.receiver.reset()
        errorText[0] = 0
    }

    /// Why a transfer failed; nil if an answer arrived.
    func failure(_ result: CURLcode) -> TransferFailure? {
        guard result != CURLE_OK else { return nil }
        let text = String(cString: errorText)
        return TransferFailure(
            code: result, text: text.isEmpty ? curl.text(of: result) : text,
            systemError: Int32(truncatingIfNeeded: number(CURLINFO_OS_ERRNO)),
            verification: number(CURLINFO_SSL_VERIFYRESULT), isAnswerTooLong: box.receiver.isTooLong)
    }

    func number(_ info: CURLINFO) -> Int { ringwake_curl_long(curl.pointer, handle, info) }

    func microseconds(_ info: CURLINFO) -> Int64 { Int64(ringwake_curl_offset(curl.pointer, handle, info)) }

    private func check(_ result: CURLcode, _ option: CURLoption) throws(RingwakeError) {
        guard result == CURLE_OK else {
            throw RingwakeError(
                .failed,
                "libcurl does not take option \(option.rawValue): \(curl.text(of: result)); "
                    + "7.85 or later with OpenSSL and HTTP/2 is needed")
        }
    }
}

/// Holds the receiver of a handle, for the functions that libcurl calls.
private final class ReceiverBox {
    let receiver: any TransferReceiver

    init(_ receiver: any TransferReceiver) {
        self.receiver = receiver
    }
}

/// CURLOPT_WRITEFUNCTION: a result smaller than `count` makes libcurl end the transfer.
private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    // libcurl's `size` is always 1 (CURLOPT_WRITEFUNCTION(3)).
    guard let bytes, let context else { return 0 }
    let box = Unmanaged<ReceiverBox>.fromOpaque(context).takeUnretainedValue()
    return box.receiver.takeBody(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
}

/// CURLOPT_HEADERFUNCTION.
private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    Unmanaged<ReceiverBox>.fromOpaque(context).takeUnretainedValue().receiver
        .takeHeader(UnsafeRawBufferPointer(start: bytes, count: count))
    return count
}
