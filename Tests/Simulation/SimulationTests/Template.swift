@testable import ClientStore
@testable import RelayStore

import PosixKit

/// Empty databases, made once for a process and copied for each party: making one takes longer than a short life.
enum Template {
    nonisolated(unsafe) private static var relayBytes: [UInt8]?
    nonisolated(unsafe) private static var clientBytes: [UInt8]?

    static func prepare(_ folder: String) throws {
        guard relayBytes == nil else { return }
        let relay = folder + "/template-relay"
        try RelayLedger(directory: relay).close()
        relayBytes = try Posix.readFile(relay + "/relay.db")
        let client = folder + "/template-client"
        try ClientStore(home: client).close()
        clientBytes = try Posix.readFile(client + "/client.db")
    }

    static func relay(_ directory: String) throws {
        try Posix.createDirectory(directory)
        Machine.overwrite(directory + "/relay.db", relayBytes ?? [])
    }

    static func client(_ home: String) throws {
        try Posix.createDirectory(home)
        Machine.overwrite(home + "/client.db", clientBytes ?? [])
    }
}
