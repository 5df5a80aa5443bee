// swift-tools-version: 6.2
import PackageDescription

// Every target is compiled in Swift 6 mode with these; a warning is an error.
let common: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

// Pure modules read bytes that strangers wrote: no unsafe construct passes unmarked.
let pure = common + [.strictMemorySafety()]


// A target may depend on targets of a lower ring only; `.ci/check-layout.py` holds the rings.
let package = Package(
    name: "ringwake",
    targets: [
        // Ring 0: C libraries and the kernel, as module maps and shims.
        .systemLibrary(name: "CRingwakeLinux", path: "Sources/C/CRingwakeLinux"),
        .systemLibrary(
            name: "CRingwakeOpenSSL", path: "Sources/C/CRingwakeOpenSSL", providers: [.apt(["libssl-dev"])]),

        // Ring 1: pure, or the kernel alone.
        .target(name: "RingwakeCore", swiftSettings: pure),
        .target(name: "HTTP1", swiftSettings: pure),
        .target(name: "RunLoop", dependencies: ["CRingwakeLinux"], swiftSettings: common),
        .target(name: "FileSystem", dependencies: ["CRingwakeLinux"], swiftSettings: common),

        // Ring 2: one library each, behind one door.
        .target(
            name: "Cryptography", dependencies: ["CRingwakeOpenSSL", "RingwakeCore"], swiftSettings: common),

        .testTarget(name: "RingwakeCoreTests", dependencies: ["RingwakeCore"], swiftSettings: common),
        .testTarget(name: "HTTP1Tests", dependencies: ["HTTP1"], swiftSettings: common),
        .testTarget(name: "RunLoopTests", dependencies: ["CRingwakeLinux", "RunLoop"], swiftSettings: common),
        .testTarget(name: "FileSystemTests", dependencies: ["FileSystem"], swiftSettings: common),
        .testTarget(
            name: "CryptographyTests", dependencies: ["CRingwakeOpenSSL", "Cryptography", "RingwakeCore"],
            swiftSettings: common),
    ],
    cxxLanguageStandard: .cxx17
)
