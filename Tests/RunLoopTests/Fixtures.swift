import CRingwakeLinux
import Glibc
import Testing

/// Two ends of a stream, closed at the end of the test.
final class SocketPair {
    let near: Int32
    private(set) var far: Int32

    init() {
        var descriptors: (Int32, Int32) = (-1, -1)
        withUnsafeMutableBytes(of: &descriptors) {
            _ = ringwake_stream_socket_pair($0.assumingMemoryBound(to: Int32.self).baseAddress)
        }
        (near, far) = descriptors
    }

    deinit {
        close(near)
        closeFar()
    }

    func send(_ byte: UInt8) {
        withUnsafeBytes(of: byte) { _ = write(far, $0.baseAddress, 1) }
    }

    func receive() {
        var byte: UInt8 = 0
        _ = read(near, &byte, 1)
    }

    func closeFar() {
        if far >= 0 { close(far) }
        far = -1
    }
}

/// A thread that writes one byte a little later: something that can wake a loop that sleeps without a limit.
final class DelayedWriter {
    private var thread = pthread_t()

    init(descriptor: Int32) {
        let argument = UnsafeMutableRawPointer(bitPattern: Int(descriptor))
        pthread_create(
            &thread, nil,
            { argument in
                usleep(20_000)
                var byte: UInt8 = 1
                write(Int32(truncatingIfNeeded: Int(bitPattern: argument)), &byte, 1)
                return nil
            }, argument)
    }

    func join() {
        pthread_join(thread, nil)
    }
}

struct SpawnFailure: Error {
    let errno: Int32
}

func pipe() throws -> (read: Int32, write: Int32) {
    var descriptors: [Int32] = [-1, -1]
    guard ringwake_pipe(&descriptors, 0) == 0 else { throw SpawnFailure(errno: errno) }
    return (descriptors[0], descriptors[1])
}

/// Runs a script in a child of the test.
func spawnShell(_ script: String, input: Int32 = 0) throws -> (process: pid_t, pidfd: Int32) {
    let words = ["/bin/sh", "-c", script].map { (word: String) in strdup(word) }
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let result = ringwake_spawn(&process, words + [nil], [nil], input, 1, 2)
    guard result == 0 else { throw SpawnFailure(errno: result) }
    return (process, ringwake_pidfd_open(process))
}
