// swift-tools-version: 6.2
import PackageDescription

// In a program of your own: .package(url: "<where Ringwake's repository is>", from: "<its newest version>").
let package = Package(
    name: "audio-session-example",
    dependencies: [.package(name: "ringwake", path: "../..", traits: ["CallAudio"])],
    targets: [
        .executableTarget(
            name: "speak-up", dependencies: [.product(name: "CallAudio", package: "ringwake")],
            swiftSettings: [
                .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("InternalImportsByDefault"),
            ])
    ]
)
