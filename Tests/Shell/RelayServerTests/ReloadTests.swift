import ChannelWire
import LinkRuntime
import Operations
import PosixKit
import RelayServer
import Testing

@Suite("A relay that reads its settings anew")
struct ReloadTests {
    @Test("lets in as many connections of an address as the new settings say")
    func connections() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let first = try net.connect(relay).opened()
        #expect(relay.reload { $0.connectionsPerAddressMax = 1 }.code == .ok)
        let second = try net.connect(relay).opened()
        #expect(second.closed == .refused(code: LinkErrorCode.tooManyConnections.rawValue))
        #expect(first.closed == nil)
    }

    @Test("gives links that come later the new deadlines")
    func deadlines() throws {
        let relay = try TestRelay { $0.handshakeSeconds = 3600 }
        let net = try TestNet()
        let early = try net.connect(relay).opened()
        #expect(relay.reload { $0.handshakeSeconds = 1 }.code == .ok)
        // Its answer comes by the same way as the new deadlines, after them.
        #expect(relay.operate("status").code == .ok)
        // Neither says anything.
        #expect(try net.connect(relay).opened().ended() == .timeout)
        #expect(early.closed == nil)
    }

    @Test("decides about invitations by the new policy")
    func policy() throws {
        let relay = try TestRelay()
        let net = try TestNet()
        let channel = TestChannel()
        #expect(relay.reload { $0.admission = .closed }.code == .ok)
        let (client, answer) = try channel.invite(relay, net)
        #expect(answer.params == .relayReject(RejectionReason(text: "not_accepting")))
        #expect(try client.ended() == .notAccepting)
    }

    @Test("says what is wrong with them, now and in its status, and goes on with those it has")
    func wrong() throws {
        let relay = try TestRelay { $0.connectionsPerAddressMax = 1 }
        let net = try TestNet()
        let failed = relay.reload(wrong: OperatorError(.badConfiguration, "no such setting: nmae"))
        #expect(failed.code == .badConfiguration)
        #expect(failed.errors.contains("no such setting: nmae"))
        let status = relay.operate("status", "--json").output
        #expect(status.contains("\"ok\":false") && status.contains("no such setting: nmae"))
        let first = try net.connect(relay).opened()
        #expect(first.isOpen)
        #expect(
            try net.connect(relay).opened().closed
                == .refused(code: LinkErrorCode.tooManyConnections.rawValue))
        #expect(relay.reload { _ in }.code == .ok)
        #expect(relay.operate("status", "--json").output.contains("\"ok\":true"))
    }
}
