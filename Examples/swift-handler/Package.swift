// swift-tools-version: 6.2
import PackageDescription

// In a package of your own: .package(url: "<where Ringwake's repository is>", from: "<its newest version>").
let kit: Target.Dependency = .product(name: "RingwakeKit", package: "ringwake")
let testing: Target.Dependency = .product(name: "RingwakeKitTesting", package: "ringwake")

let package = Package(
    name: "swift-handler",
    dependencies: [.package(name: "ringwake", path: "../..", traits: [])],
    targets: [
        // Does what every call app does, independent of the protocol.
        .target(name: "CallHandling", dependencies: [kit]),
        // A handler whose calls carry no media: start with this one.
        .executableTarget(name: "phone-handler", dependencies: ["CallHandling", kit]),
        // A handler that stores objects with the daemon.
        .executableTarget(name: "diary-handler", dependencies: ["CallHandling", kit]),
        // A handler whose calls are SIP calls of baresip.
        .target(name: "Baresip", dependencies: ["CallHandling", kit]),
        .executableTarget(name: "baresip-handler", dependencies: ["Baresip", "CallHandling", kit]),
        .testTarget(name: "CallHandlingTests", dependencies: ["CallHandling", kit, testing]),
        .testTarget(name: "BaresipTests", dependencies: ["Baresip"]),
    ]
)
