// swift-tools-version: 6.2
import PackageDescription

// In a package of your own: .package(url: "<where Ringwake's repository is>", from: "<its newest version>").
let kit: Target.Dependency = .product(name: "RingwakeKit", package: "ringwake")
let testing: Target.Dependency = .product(name: "RingwakeKitTesting", package: "ringwake")

let package = Package(
    name: "swift-handler",
    dependencies: [.package(name: "ringwake", path: "../..", traits: [])],
    targets: [
        // What every call app does, whatever carries its calls.
        .target(name: "CallHandling", dependencies: [kit]),
        // A handler whose calls carry nothing: the one to begin with.
        .executableTarget(name: "phone-handler", dependencies: ["CallHandling", kit]),
        // A handler whose calls are SIP calls of baresip.
        .target(name: "Baresip", dependencies: ["CallHandling", kit]),
        .executableTarget(name: "baresip-handler", dependencies: ["Baresip", "CallHandling", kit]),
        .testTarget(name: "CallHandlingTests", dependencies: ["CallHandling", kit, testing]),
        .testTarget(name: "BaresipTests", dependencies: ["Baresip"]),
    ]
)
