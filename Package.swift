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

// Modules that run on the daemon's run loop: the main thread, checked by the compiler.
let onTheRunLoop = common + [.defaultIsolation(MainActor.self)]

// Pure modules read bytes that strangers wrote: no unsafe construct passes unmarked.
let pure = common + [.strictMemorySafety()]

// What only programs and `CallAudio` need. An app that wants RingwakeKit or Reachability disables the traits in its
// dependency (`traits: []`), and then neither package is fetched.
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Programs"]))
let logging: Target.Dependency = .product(
    name: "Logging", package: "swift-log", condition: .when(traits: ["Programs", "CallAudio"]))

// A target may depend on targets of a lower ring only; `.ci/check-layout.py` holds the rings.
let package = Package(
    name: "ringwake",
    products: [
        .executable(name: "ringwaked", targets: ["ringwaked"]),
        .executable(name: "ringwake", targets: ["ringwake"]),
        .executable(name: "ringwake-audio", targets: ["ringwake-audio"]),
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "CallAudio", targets: ["CallAudio"]),
        .library(name: "RingwakeKit", targets: ["RingwakeKit"]),
        .library(name: "RingwakeKitTesting", targets: ["RingwakeKitTesting"]),
    ],
    traits: [
        .trait(name: "Programs", description: "The daemon, its command line and the audio program."),
        .trait(name: "CallAudio", description: "The library CallAudio."),
        .default(enabledTraits: ["CallAudio", "Programs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        // Ring 0: C libraries and the kernel, as module maps and shims.
        .systemLibrary(name: "CRingwakeLinux", path: "Sources/C/CRingwakeLinux"),
        .systemLibrary(
            name: "CRingwakeOpenSSL", path: "Sources/C/CRingwakeOpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CRingwakeNGHTTP2", path: "Sources/C/CRingwakeNGHTTP2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(
            name: "CRingwakeCurl", path: "Sources/C/CRingwakeCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CRingwakeArchive", path: "Sources/C/CRingwakeArchive", providers: [.apt(["libarchive-dev"])]),
        .systemLibrary(
            name: "CRingwakeSQLite", path: "Sources/C/CRingwakeSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CRingwakeNetlink", path: "Sources/C/CRingwakeNetlink", pkgConfig: "libnl-3.0",
            providers: [.apt(["libnl-3-dev"])]),
        .systemLibrary(
            name: "CRingwakeSystemd", path: "Sources/C/CRingwakeSystemd", providers: [.apt(["libsystemd-dev"])]),
        // Without pkg-config: its flags for libpulse are none that the package manager takes.
        .systemLibrary(
            name: "CRingwakePulse", path: "Sources/C/CRingwakePulse", providers: [.apt(["libpulse-dev"])]),
        .target(name: "CRingwakeTOML", path: "Sources/C/CRingwakeTOML"),

        // Ring 1: pure, or the kernel alone.
        .target(name: "RingwakeCore", swiftSettings: pure),
        .target(name: "HTTP1", swiftSettings: pure),
        .target(name: "MQTT5", swiftSettings: pure),
        .target(name: "RunLoop", dependencies: ["CRingwakeLinux"], swiftSettings: common),
        .target(name: "FileSystem", dependencies: ["CRingwakeLinux"], swiftSettings: common),
        .target(name: "LogOutput", dependencies: ["CRingwakeLinux", logging], swiftSettings: common),
        .target(name: "Database", dependencies: ["CRingwakeSQLite"], swiftSettings: common),

        // Ring 2: one library each, behind one door.
        .target(
            name: "Cryptography", dependencies: ["CRingwakeOpenSSL", "RingwakeCore"], swiftSettings: common),
        .target(
            name: "HTTPServer",
            dependencies: [
                "CRingwakeLinux", "CRingwakeNGHTTP2", "Cryptography", "HTTP1", "RingwakeCore", "RunLoop", logging,
            ],
            swiftSettings: onTheRunLoop),

        .target(
            name: "Reachability", dependencies: ["CRingwakeLinux", "CRingwakeNetlink", "FileSystem", "RunLoop"],
            swiftSettings: common),

        .target(
            name: "DBus", dependencies: ["CRingwakeSystemd", "RunLoop", logging], swiftSettings: common),
        .target(name: "ServiceManager", dependencies: ["CRingwakeSystemd", "RingwakeCore"], swiftSettings: common),
        .target(
            name: "CallAudio",
            dependencies: [
                "CRingwakeLinux", "CRingwakePulse", "DBus", "FileSystem", "RingwakeCore", "RunLoop", logging,
            ],
            swiftSettings: common),
        .target(
            name: "CallerListFiles", dependencies: ["RingwakeCore"], swiftSettings: common),
        .target(name: "ProviderAPI", dependencies: ["RingwakeCore"], swiftSettings: common),
        .target(name: "DeviceLink", dependencies: ["MQTT5", "RingwakeCore"], swiftSettings: pure),
        .target(
            name: "DataProtection", dependencies: ["Cryptography", "FileSystem", "RingwakeCore"], swiftSettings: common),
        .target(name: "StoreMigration", dependencies: ["CRingwakeSQLite", "Database"], swiftSettings: common),

        // Ring 3: one stage each; they do not know each other.
        .target(
            name: "PushGateway",
            dependencies: [
                "Cryptography", "DeviceLink", "FileSystem", "HTTPServer", "ProviderAPI", "RingwakeCore", "RunLoop",
                logging,
            ],
            swiftSettings: onTheRunLoop),
        .target(
            name: "PushJournal",
            dependencies: [
                "CRingwakeLinux", "CRingwakeSQLite", "DataProtection", "Database", "FileSystem", "RingwakeCore",
                "RunLoop", "StoreMigration", logging,
            ],
            swiftSettings: onTheRunLoop),
        .target(
            name: "HandlerActivation",
            dependencies: ["CRingwakeLinux", "DBus", "FileSystem", "RingwakeCore", "RunLoop", logging],
            swiftSettings: onTheRunLoop),
        .target(
            name: "DeviceServices",
            dependencies: ["CRingwakeLinux", "DBus", "FileSystem", "RingwakeCore", "RunLoop", logging],
            swiftSettings: onTheRunLoop),
        .target(
            name: "LinkTransport",
            dependencies: [
                "CRingwakeLinux", "Cryptography", "DeviceLink", "HTTPServer", "MQTT5", "RingwakeCore", "RunLoop",
                logging,
            ],
            swiftSettings: onTheRunLoop),
        .target(
            name: "PushClient",
            dependencies: ["CRingwakeCurl", "Cryptography", "ProviderAPI", "RingwakeCore", "RunLoop"],
            swiftSettings: common),
        .target(
            name: "VoIPCertificates", dependencies: ["Cryptography", "FileSystem", "RingwakeCore"],
            swiftSettings: common),
        .target(name: "ControlProtocol", dependencies: ["RingwakeCore", "RunLoop"], swiftSettings: common),
        .target(
            name: "BackupArchive",
            dependencies: ["CRingwakeArchive", "CRingwakeLinux", "Cryptography", "FileSystem", "RingwakeCore"],
            swiftSettings: common),

        // Ring 4: the library for call apps, and the messages that only the daemon and the command line make.
        .target(name: "CallService", dependencies: ["ControlProtocol", "RingwakeCore"], swiftSettings: common),
        .target(
            name: "DaemonConfiguration",
            dependencies: [
                "CRingwakeTOML", "DeviceServices", "FileSystem", "HTTPServer", "HandlerActivation", "PushJournal",
                "Reachability", "RingwakeCore", logging,
            ],
            swiftSettings: common),
        .target(
            name: "NetworkMessages", dependencies: ["ControlProtocol", "Reachability", "RunLoop"], swiftSettings: common
        ),
        .target(
            name: "RingwakeKit",
            dependencies: ["CRingwakeLinux", "ControlProtocol", "HTTP1", "RingwakeCore", "RunLoop"],
            swiftSettings: common),

        // Ring 5: composition roots, and the daemon's double for tests of apps.
        .target(
            name: "RingwakeKitTesting",
            dependencies: ["CallService", "ControlProtocol", "RingwakeCore", "RingwakeKit", "RunLoop"],
            swiftSettings: common),
        .target(
            name: "RingwakeDaemon",
            dependencies: [
                "CRingwakeLinux", "CallService", "ControlProtocol", "Cryptography", "DBus", "DaemonConfiguration",
                "DataProtection", "DeviceLink", "DeviceServices", "FileSystem", "HandlerActivation", "HTTPServer",
                "LinkTransport", "LogOutput", "MQTT5", "NetworkMessages", "PushClient", "PushGateway", "PushJournal",
                "Reachability",
                "RingwakeCore", "RunLoop", "ServiceManager", "StoreMigration",
                "VoIPCertificates", logging,
            ],
            swiftSettings: onTheRunLoop),
        .target(
            name: "RingwakeCommands",
            dependencies: [
                "BackupArchive", "CRingwakeLinux", "CallerListFiles", "ControlProtocol", "Cryptography", "FileSystem",
                "HTTP1", "NetworkMessages", "ProviderAPI", "PushClient", "Reachability", "RingwakeCore", "RunLoop",
                "VoIPCertificates", argumentParser,
            ],
            swiftSettings: common),

        .target(
            name: "RingwakeAudioAgent",
            dependencies: [
                "CallAudio", "CRingwakeLinux", "ControlProtocol", "FileSystem", "LogOutput", "RingwakeCore", "RunLoop",
                "ServiceManager", logging,
            ],
            swiftSettings: common),

        // Ring 6: main.swift, nothing else.
        .executableTarget(name: "ringwaked", dependencies: ["RingwakeDaemon"], swiftSettings: onTheRunLoop),
        .executableTarget(name: "ringwake", dependencies: ["RingwakeCommands"], swiftSettings: common),

        .executableTarget(name: "ringwake-audio", dependencies: ["RingwakeAudioAgent"], swiftSettings: common),

        .testTarget(name: "RingwakeCoreTests", dependencies: ["RingwakeCore"], swiftSettings: common),
        .testTarget(name: "HTTP1Tests", dependencies: ["HTTP1"], swiftSettings: common),
        .testTarget(name: "MQTT5Tests", dependencies: ["MQTT5"], swiftSettings: common),
        .testTarget(
            name: "DeviceLinkTests", dependencies: ["DeviceLink", "MQTT5", "RingwakeCore"], swiftSettings: common),
        .testTarget(name: "RunLoopTests", dependencies: ["CRingwakeLinux", "RunLoop"], swiftSettings: common),
        .testTarget(name: "FileSystemTests", dependencies: ["FileSystem"], swiftSettings: common),
        .testTarget(name: "LogOutputTests", dependencies: ["LogOutput"], swiftSettings: common),
        .testTarget(
            name: "CryptographyTests",
            dependencies: ["CRingwakeLinux", "CRingwakeOpenSSL", "Cryptography", "RingwakeCore", "RunLoop"],
            swiftSettings: common),
        .testTarget(
            name: "DataProtectionTests",
            dependencies: ["CRingwakeLinux", "Cryptography", "DataProtection", "FileSystem", "RingwakeCore"],
            swiftSettings: common),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: ["CRingwakeLinux", "CRingwakeNetlink", "Reachability", "RunLoop"], swiftSettings: common),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "CRingwakeLinux", "CRingwakeNGHTTP2", "CRingwakeOpenSSL", "Cryptography", "HTTPServer", "RingwakeCore",
                "RunLoop", logging,
            ],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "LinkTransportTests",
            dependencies: [
                "CRingwakeLinux", "Cryptography", "DeviceLink", "HTTPServer", "LinkTransport", "MQTT5", "RingwakeCore",
                "RunLoop", logging,
            ],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "PushGatewayTests",
            dependencies: [
                "Cryptography", "DeviceLink", "FileSystem", "HTTPServer", "ProviderAPI", "PushGateway", "RingwakeCore",
                "RunLoop",
                logging,
            ],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "StoreMigrationTests", dependencies: ["CRingwakeSQLite", "Database", "StoreMigration"],
            swiftSettings: common),
        .testTarget(
            name: "PushJournalTests",
            dependencies: [
                "CRingwakeLinux", "CRingwakeSQLite", "DataProtection", "Database", "FileSystem", "PushJournal",
                "RingwakeCore", "RunLoop", "StoreMigration", logging,
            ],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "HandlerActivationTests",
            dependencies: ["CRingwakeLinux", "DBus", "HandlerActivation", "RingwakeCore", "RunLoop", logging],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "DBusTests", dependencies: ["CRingwakeLinux", "DBus", "RunLoop", logging],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "DeviceServicesTests",
            dependencies: ["CRingwakeLinux", "DBus", "DeviceServices", "RingwakeCore", "RunLoop", logging],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "CallAudioTests",
            dependencies: ["CallAudio", "CRingwakeLinux", "DBus", "FileSystem", "RingwakeCore", "RunLoop", logging],
            swiftSettings: common),
        .testTarget(
            name: "CallerListFilesTests", dependencies: ["CallerListFiles", "RingwakeCore"], swiftSettings: common),
        .testTarget(
            name: "VoIPCertificatesTests",
            dependencies: ["Cryptography", "FileSystem", "RingwakeCore", "VoIPCertificates"],
            swiftSettings: common),
        .testTarget(
            name: "ControlProtocolTests",
            dependencies: [
                "CRingwakeLinux", "ControlProtocol", "NetworkMessages", "Reachability", "RingwakeCore", "RunLoop",
            ],
            swiftSettings: common),
        .testTarget(
            name: "BackupArchiveTests",
            dependencies: [
                "BackupArchive", "CRingwakeArchive", "CRingwakeLinux", "Cryptography", "FileSystem", "RingwakeCore",
            ],
            swiftSettings: common),
        .testTarget(
            name: "CallServiceTests", dependencies: ["CallService", "ControlProtocol", "RingwakeCore"],
            swiftSettings: common),
        .testTarget(
            name: "RingwakeKitTests",
            dependencies: ["CRingwakeLinux", "ControlProtocol", "HTTP1", "RingwakeCore", "RingwakeKit", "RunLoop"],
            swiftSettings: common),
        .testTarget(
            name: "RingwakeKitTestingTests", dependencies: ["RingwakeCore", "RingwakeKit", "RingwakeKitTesting"],
            swiftSettings: common),
        .testTarget(
            name: "RingwakeDaemonTests",
            dependencies: [
                "CallService", "ControlProtocol", "Cryptography", "DBus", "DaemonConfiguration", "DataProtection",
                "DeviceLink", "FileSystem", "HTTPServer", "HandlerActivation",
                "PushGateway", "PushJournal", "Reachability", "RingwakeCore", "RingwakeDaemon", "RunLoop", logging,
            ],
            swiftSettings: onTheRunLoop),
        .testTarget(
            name: "DaemonConfigurationTests",
            dependencies: [
                "ControlProtocol", "DaemonConfiguration", "DeviceServices", "HTTPServer", "HandlerActivation",
                "PushJournal", "Reachability", "RingwakeCore", logging,
            ],
            swiftSettings: common),
        .testTarget(
            name: "RingwakeAudioAgentTests",
            dependencies: ["CRingwakeLinux", "ControlProtocol", "RingwakeAudioAgent", "RingwakeCore", "RunLoop"],
            swiftSettings: common),
        .testTarget(
            name: "RingwakeCommandsTests",
            dependencies: [
                "BackupArchive", "CRingwakeLinux", "ControlProtocol", "Cryptography", "PushClient", "Reachability",
                "RingwakeCommands", "RingwakeCore", "VoIPCertificates", argumentParser,
            ],
            swiftSettings: common),
        // What reads bytes of strangers, over the corpus that fuzzing found; `Tests/lab/fuzz/run` fuzzes it.
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "BackupArchive", "CRingwakeLinux", "CRingwakeNGHTTP2", "CRingwakeOpenSSL", "CRingwakeSystemd",
                "CallerListFiles", "Cryptography", "DBus",
                "DaemonConfiguration", "DataProtection", "HTTP1", "HTTPServer", "MQTT5", "ProviderAPI", "PushGateway",
                "RingwakeCore", "RunLoop", logging,
            ],
            swiftSettings: onTheRunLoop),
    ],
    cxxLanguageStandard: .cxx17
)
