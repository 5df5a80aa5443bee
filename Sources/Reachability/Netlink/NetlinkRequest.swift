internal import CRingwakeNetlink
internal import Glibc

/// A request to rtnetlink, built by libnl. It can be sent again.
final class NetlinkRequest {
    /// What is asked, for errors: `RTM_GETLINK`.
    let name: String
    private let message: OpaquePointer

    /// Enough for each request. libnl clears them all, and would take a page without this.
    private static let maximumBytes = 256

    /// - Parameters:
    ///   - flags: `NLM_F_*` besides NLM_F_REQUEST.
    ///   - header: The fixed part: `ifinfomsg`, `ifaddrmsg`, `rtmsg`.
    init<Header: BitwiseCopyable>(
        _ name: String, type: Int, flags: Int32 = 0, header: Header
    ) throws(KernelLookupError) {
        guard let message = nlmsg_alloc_size(Self.maximumBytes), let start = nlmsg_hdr(message),
            let type = UInt16(exactly: type), let flags = UInt16(exactly: NLM_F_REQUEST | flags)
        else {
            throw Self.noMemory(name)
        }
        start.pointee.nlmsg_type = type
        start.pointee.nlmsg_flags = flags
        self.name = name
        self.message = message
        var header = header
        let size = MemoryLayout<Header>.size
        guard nlmsg_append(message, &header, size, Int32(NLMSG_ALIGNTO)) == 0 else {
            throw Self.noMemory(name)
        }
    }

    deinit { nlmsg_free(message) }

    private static func noMemory(_ name: String) -> KernelLookupError {
        KernelLookupError(request: name, message: "no memory")
    }

    func put(_ attribute: Int, _ bytes: [UInt8]) throws(KernelLookupError) {
        guard nla_put(message, Int32(attribute), Int32(bytes.count), bytes) == 0 else {
            throw Self.noMemory(name)
        }
    }

    func put(_ attribute: Int, _ number: UInt32) throws(KernelLookupError) {
        guard nla_put_u32(message, Int32(attribute), number) == 0 else {
            throw Self.noMemory(name)
        }
    }

    /// Sends it to the kernel, which has the answer, or its beginning, ready when this returns.
    func send(on socket: NetlinkSocket, sequence: UInt32) throws(KernelLookupError) {
        guard let header = nlmsg_hdr(message) else {
            throw Self.noMemory(name)
        }
        header.pointee.nlmsg_seq = sequence
        let length = Int(header.pointee.nlmsg_len)
        while true {
            let sent = Glibc.send(socket.descriptor, header, length, 0)
            if sent == length { return }
            guard sent < 0, errno == EINTR else {
                let why = sent < 0 ? String(cString: strerror(errno)) : "sent in part"
                throw KernelLookupError(request: name, message: why)
            }
        }
    }
}
