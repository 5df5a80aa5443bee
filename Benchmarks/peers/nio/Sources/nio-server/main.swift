// A server on SwiftNIO that answers every request with 200 and checks nothing, with one thread.
//
//     nio-server PORT CERTIFICATE KEY [CA]
//
// With a CA it asks for a client certificate and verifies it, as the push port does.
import Glibc
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

final class Answers: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let isEnd =
            switch unwrapInboundIn(data) {
            case .headers(let headers): headers.endStream
            case .data(let data): data.endStream
            default: false
            }
        guard isEnd else { return }
        let answer = HTTP2Frame.FramePayload.Headers(headers: HPACKHeaders([(":status", "200")]), endStream: true)
        context.writeAndFlush(wrapOutboundOut(.headers(answer)), promise: nil)
    }
}

let arguments = CommandLine.arguments
guard arguments.count >= 4, let port = Int(arguments[1]) else {
    print("usage: nio-server PORT CERTIFICATE KEY [CA]")
    exit(2)
}
var tls = TLSConfiguration.makeServerConfiguration(
    certificateChain: try NIOSSLCertificate.fromPEMFile(arguments[2]).map { .certificate($0) },
    privateKey: .privateKey(try NIOSSLPrivateKey(file: arguments[3], format: .pem)))
tls.minimumTLSVersion = .tlsv13
tls.applicationProtocols = ["h2"]
if arguments.count > 4 {
    tls.certificateVerification = .noHostnameVerification
    tls.trustRoots = .file(arguments[4])
}
let context = try NIOSSLContext(configuration: tls)
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let server = try ServerBootstrap(group: group)
    .serverChannelOption(ChannelOptions.backlog, value: 1024)
    .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
    .childChannelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
    .childChannelInitializer { channel in
        channel.pipeline.addHandler(NIOSSLServerHandler(context: context)).flatMap {
            channel.configureHTTP2Pipeline(mode: .server) { stream in stream.pipeline.addHandler(Answers()) }
        }.map { _ in }
    }
    .bind(host: "127.0.0.1", port: port).wait()
try server.closeFuture.wait()
