import CRingwakeNGHTTP2

/// Submits an answer to nghttp2. Without a body it is HEADERS with END_STREAM, otherwise HEADERS and DATA.
/// ``HTTP2Callbacks/readBody`` fills DATA, in one frame if the body fits.
///
/// Names and values are stored together in stack memory; nghttp2 copies them.
///
/// - Returns: false if nghttp2 has no memory, or the stream is closed.
func submitAnswer(_ response: HTTPResponse, streamID: Int32, session: OpaquePointer) -> Bool {
    let status = (":status", String(response.status))
    var byteCount = status.0.utf8.count + status.1.utf8.count
    for field in response.fields {
        byteCount += field.name.utf8.count + field.value.utf8.count
    }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { text in
        withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: response.fields.count + 1) { pairs in
            var used = 0
            func place(_ string: String) -> UnsafeMutableBufferPointer<UInt8> {
                let (_, end) = text[used...].initialize(from: string.utf8)
                let slice = UnsafeMutableBufferPointer(rebasing: text[used..<end])
                used = end
                return slice
            }
            func placePair(_ index: Int, _ name: String, _ value: String) {
                let name = place(name)
                let value = place(value)
                pairs.initializeElement(
                    at: index,
                    to: nghttp2_nv(
                        name: name.baseAddress, value: value.baseAddress, namelen: name.count,
                        valuelen: value.count, flags: UInt8(truncatingIfNeeded: NGHTTP2_NV_FLAG_NONE.rawValue)))
            }
            placePair(0, status.0, status.1)
            for (index, field) in response.fields.enumerated() {
                placePair(index + 1, field.name, field.value)
            }
            if response.body.isEmpty {
                return nghttp2_submit_response(session, streamID, pairs.baseAddress, pairs.count, nil) == 0
            }
            var body = nghttp2_data_provider()
            body.read_callback = HTTP2Callbacks.readBody
            return nghttp2_submit_response(session, streamID, pairs.baseAddress, pairs.count, &body) == 0
        }
    }
}
