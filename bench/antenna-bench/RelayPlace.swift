internal import ChannelWire
internal import Operations
internal import PosixKit

/// Where a relay listens, and who it must be.
struct RelayPlace {
    /// IPv4, in the machine's byte order.
    let address: UInt32
    let port: UInt16
    /// Shape: 32 bytes.
    let identity: [UInt8]
    /// As links list it.
    let host: AntennaLink.Host

    /// Reads an `r` link. Its first host must have an IPv4 address.
    init(link: String) throws(OperatorError) {
        let parsed: AntennaLink
        do throws(WireError) {
            parsed = try AntennaLink.parse(link)
        } catch {
            throw OperatorError(.badValue, "that is no link: \(error)", hint: "antennactl address prints it")
        }
        guard case .relayAddress(let identity, let hosts) = parsed, let host = hosts.first else {
            throw OperatorError(
                .badValue, "that is not the address of a relay", hint: "antennactl address prints it")
        }
        let resolved: [SocketAddress]
        do throws(ResolveError) {
            resolved = try SocketAddress.resolve(host: host.host, port: host.port)
        } catch {
            throw OperatorError(.unreachable, error.description)
        }
        guard let address = resolved.first(where: { !$0.isIPv6 }) else {
            throw OperatorError(.badValue, "\(host.host) has no IPv4 address")
        }
        self.address = address.hostBytes.reduce(0) { $0 << 8 | UInt32($1) }
        port = host.port
        self.identity = identity.raw
        self.host = AntennaLink.Host(endpoint: host, identity: identity)
    }

    var isLoopback: Bool { address >> 24 == 127 }
}
