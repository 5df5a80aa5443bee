// swift-tools-version: 6.2
import PackageDescription

// In a program of your own: .package(url: "<where Ringwake's repository is>", from: "<its newest version>").
let package = Package(
    name: "reachability-example",
    dependencies: [.package(name: "ringwake", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "watch-path", dependencies: [.product(name: "Reachability", package: "ringwake")])
    ]
)
