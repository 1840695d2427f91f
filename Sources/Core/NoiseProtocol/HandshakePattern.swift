/// What the messages of a handshake consist of. Source: The Noise Protocol Framework, revision 34, section 7.
package struct HandshakePattern: Sendable {
    package enum Token: Sendable, Equatable { case e, s, ee, es, se, ss }

    package let name: String
    /// Public keys that the responder knows of the initiator beforehand, and the reverse.
    package let initiatorPreMessage: [Token]
    package let responderPreMessage: [Token]
    /// Shape: the initiator's first message, the responder's, and so on in turn.
    package let messages: [[Token]]

    package init(
        name: String, initiatorPreMessage: [Token] = [], responderPreMessage: [Token] = [],
        messages: [[Token]]
    ) {
        precondition(
            (initiatorPreMessage + responderPreMessage).allSatisfy { $0 == .e || $0 == .s },
            "a pre-message holds public keys only")
        self.name = name
        self.initiatorPreMessage = initiatorPreMessage
        self.responderPreMessage = responderPreMessage
        self.messages = messages
    }

    /// The initiator stays unknown, the responder sends its static key:
    /// ```
    /// -> e
    /// <- e, ee, s, es
    /// ```
    package static let nx = HandshakePattern(name: "NX", messages: [[.e], [.e, .ee, .s, .es]])
}
