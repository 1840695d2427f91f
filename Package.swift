// swift-tools-version: 6.2
import PackageDescription

// The rings, from the inside out. An arrow may only point inward:
//
//   Apps ──▶ Shell ──▶ Core     Core decides. No clock, socket, file, thread, randomness.
//                └───▶ Doors    Doors wrap one C library each. They have never heard of a channel.
//
// `scripts/test` builds with `--explicit-target-dependency-import-check error`; Tests/Tidy holds the rest of the line.

/// Every target builds with the strictest compiler we have.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func room(_ ring: String, _ name: String, _ needs: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: needs, path: "Sources/\(ring)/\(name)", exclude: ["README.md"],
        swiftSettings: strict)
}
func clib(_ name: String, _ pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, path: "Sources/Doors/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}
func app(_ name: String, _ needs: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: needs, path: "Sources/Apps/\(name)", swiftSettings: strict)
}
func tests(_ ring: String, _ name: String, _ needs: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: needs + ["TestKit"], path: "Tests/\(ring)/\(name)",
        swiftSettings: [.swiftLanguageMode(.v6)])
}

let package = Package(
    name: "antenna",
    products: [
        .library(name: "ChannelClient", targets: ["ChannelClient"]),
        .executable(name: "antennad", targets: ["antennad"]),
        .executable(name: "antennactl", targets: ["antennactl"]),
        .executable(name: "antenna", targets: ["antenna"]),
        .executable(name: "antenna-bench", targets: ["antenna-bench"]),
    ],
    targets: [
        // Core
        room("Core", "ChannelWire"),
        room("Core", "NoiseProtocol"),
        room("Core", "RelayCore", ["ChannelWire"]),
        room("Core", "ClientCore", ["ChannelWire"]),
        room("Core", "ControlWire"),
        // Doors
        .systemLibrary(name: "CPosix", path: "Sources/Doors/CPosix"),
        clib("CLibevent", "libevent_core", apt: "libevent-dev"),
        clib("CSodium", "libsodium", apt: "libsodium-dev"),
        clib("CSQLite", "sqlite3", apt: "libsqlite3-dev"),
        clib("CZstd", "libzstd", apt: "libzstd-dev"),
        clib("CQREncode", "libqrencode", apt: "libqrencode-dev"),
        clib("CInih", "inih", apt: "libinih-dev"),
        room("Doors", "LibeventLoop", ["CLibevent", "PosixKit"]),
        room("Doors", "SodiumCrypto", ["CSodium"]),
        room("Doors", "SQLiteKit", ["CSQLite"]),
        room("Doors", "ZstdKit", ["CZstd"]),
        room("Doors", "QRKit", ["CQREncode"]),
        room("Doors", "IniKit", ["CInih"]),
        room("Doors", "PosixKit", ["CPosix"]),
        // Shell
        room("Shell", "Operations", ["PosixKit", "IniKit"]),
        room(
            "Shell", "LinkRuntime",
            ["ChannelWire", "NoiseProtocol", "LibeventLoop", "SodiumCrypto", "PosixKit"]),
        room("Shell", "RelayStore", ["ChannelWire", "RelayCore", "SQLiteKit", "PosixKit", "SodiumCrypto"]),
        room(
            "Shell", "RelayServer",
            [
                "ChannelWire", "RelayCore", "ControlWire", "LinkRuntime", "LibeventLoop", "RelayStore",
                "Operations",
                "OperatorLink", "SodiumCrypto", "PosixKit", "ZstdKit",
            ]),
        room("Shell", "ClientStore", ["ChannelWire", "ClientCore", "SQLiteKit", "PosixKit", "SodiumCrypto"]),
        room(
            "Shell", "ChannelClient",
            [
                "ChannelWire", "ClientCore", "LinkRuntime", "LibeventLoop", "ClientStore", "SodiumCrypto",
                "PosixKit",
                "ZstdKit",
            ]),
        room("Shell", "OperatorLink", ["ControlWire", "Operations", "PosixKit"]),
        room(
            "Shell", "OperatorCommands", ["ControlWire", "OperatorLink", "Operations", "PosixKit", "QRKit"]),
        room("Shell", "OwnerCommands", ["ChannelClient", "Operations", "PosixKit", "QRKit"]),
        // Apps
        app("antennad", ["RelayServer"]),
        app("antennactl", ["OperatorCommands"]),
        app("antenna", ["OwnerCommands"]),
        // Measuring
        .target(name: "CBench", path: "bench/CBench"),
        .executableTarget(
            name: "antenna-bench",
            dependencies: [
                "CBench", "ChannelWire", "NoiseProtocol", "LinkRuntime", "SodiumCrypto", "PosixKit",
                "Operations",
            ],
            path: "bench/antenna-bench", swiftSettings: strict),
        // Support
        room("Support", "TestKit", ["ChannelWire", "RelayCore", "ClientCore", "PosixKit"]),
        room(
            "Support", "PuppetRelay",
            ["ChannelWire", "LinkRuntime", "NoiseProtocol", "LibeventLoop", "SodiumCrypto", "PosixKit"]),
        room(
            "Support", "FuzzTargets",
            [
                "ChannelWire", "ClientCore", "ControlWire", "IniKit", "LinkRuntime", "LibeventLoop",
                "Operations", "PosixKit", "PuppetRelay", "RelayServer", "ChannelClient", "SodiumCrypto",
                "ZstdKit",
            ]),
        // Tests
        tests("Core", "ChannelWireTests", ["ChannelWire", "SodiumCrypto", "ZstdKit"]),
        tests("Core", "NoiseProtocolTests", ["NoiseProtocol", "SodiumCrypto"]),
        tests("Core", "RelayCoreTests", ["ChannelWire", "RelayCore"]),
        tests("Core", "ClientCoreTests", ["ChannelWire", "ClientCore", "RelayCore"]),
        tests("Core", "ControlWireTests", ["ControlWire"]),
        tests(
            "Doors", "DoorTests",
            ["LibeventLoop", "SodiumCrypto", "SQLiteKit", "ZstdKit", "QRKit", "IniKit", "PosixKit"]),
        tests("Shell", "OperationsTests", ["Operations", "PosixKit"]),
        tests(
            "Shell", "LinkRuntimeTests",
            ["LinkRuntime", "NoiseProtocol", "LibeventLoop", "SodiumCrypto", "PosixKit", "ChannelWire"]),
        tests(
            "Shell", "RelayStoreTests",
            ["RelayStore", "RelayCore", "ChannelWire", "SQLiteKit", "SodiumCrypto", "PosixKit"]),
        tests(
            "Shell", "RelayServerTests",
            [
                "RelayServer", "RelayStore", "LinkRuntime", "ChannelWire", "SodiumCrypto", "LibeventLoop",
                "PosixKit", "SQLiteKit",
                "Operations", "OperatorCommands", "ControlWire",
            ]),
        tests(
            "Shell", "ClientStoreTests",
            ["ClientStore", "ClientCore", "ChannelWire", "SQLiteKit", "SodiumCrypto", "PosixKit"]),
        tests(
            "Shell", "ChannelClientTests",
            [
                "ChannelClient", "RelayServer", "OperatorCommands", "Operations", "PosixKit", "ChannelWire",
                "SodiumCrypto", "SQLiteKit", "PuppetRelay",
            ]),
        tests("Shell", "OwnerCommandsTests", ["OwnerCommands", "ChannelClient", "Operations"]),
        .target(name: "CSimulatedMachine", path: "Tests/Simulation/CSimulatedMachine"),
        tests(
            "Simulation", "SimulationTests",
            [
                "CSimulatedMachine", "ChannelClient", "ClientStore", "ClientCore", "RelayServer",
                "RelayStore", "RelayCore",
                "LinkRuntime", "LibeventLoop", "ChannelWire", "SQLiteKit", "SodiumCrypto", "PosixKit",
                "Operations",
            ]),
        tests("Fuzz", "FuzzCorpusTests", ["FuzzTargets", "PosixKit"]),
        tests("Tidy", "TidyTests", ["ChannelWire"]),
    ]
)

// `scripts/fuzz` builds with libFuzzer, whose own main calls the driver; nothing else can link it.
if Context.environment["ANTENNA_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "antenna-fuzz", dependencies: ["FuzzTargets"], path: "fuzz/driver",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}

// `scripts/simulate` builds the simulation optimised, since it lives thousands of lives, and nothing beside it.
if Context.environment["ANTENNA_SIMULATION_ONLY"] != nil {
    package.products = []
    package.targets.removeAll {
        ($0.type == .test && $0.name != "SimulationTests") || $0.type == .executable
    }
}
