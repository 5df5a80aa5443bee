internal import CRingwakeNetlink
internal import Glibc
package import RunLoop

extension Facility {
    /// The same for what the network monitor uses.
    package static func probeNetlink() -> [Facility] {
        let socket: NetlinkSocket
        do throws(ReachabilityError) {
            socket = try NetlinkSocket(bufferBytes: 4096)
        } catch {
            return [
                Facility(
                    name: "netlink", why: "\(error)",
                    loss: "changes of the network are not noticed, and the connection status is unknown")
            ]
        }
        let strict = socket.setOption(NETLINK_GET_STRICT_CHK, 1)
        let filter = acceptAll(on: socket.descriptor)
        return [
            Facility(name: "netlink", why: nil, loss: "changes of the network are not noticed"),
            Facility(
                name: "socket-filter", why: reason(filter),
                loss: "the daemon wakes up for every change of the network, not only for those that matter"),
            Facility(
                name: "strict-netlink", why: reason(strict),
                loss: "the kernel sends more than was asked for, which costs time"),
        ]
    }

    private static func reason(_ number: Int32) -> String? { number == 0 ? nil : String(cString: strerror(number)) }

    /// Attaches a filter of one instruction, which accepts everything. Returns 0, or an `errno`.
    private static func acceptAll(on descriptor: Int32) -> Int32 {
        var code = [sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max)]
        return code.withUnsafeMutableBufferPointer { buffer in
            var program = sock_fprog(len: 1, filter: buffer.baseAddress)
            let size = socklen_t(MemoryLayout<sock_fprog>.size)
            return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, size) == 0 ? 0 : errno
        }
    }
}
