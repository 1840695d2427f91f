/// One element of a body, with the bytes it came in. **Source**: docs/protocol/channel.md, "Elements".
package enum Element: Hashable, Sendable {
    case plain(json: [UInt8])
    case signed(SignedElement)
    case forward(ForwardElement)
    case fileChunk(FileChunk)

    /// - Throws: `WireError` when the element is over 15602 bytes or does not fit its grammar. JSON is not
    /// read here.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Element {
        guard bytes.count <= Limits.encodedMessageMax else {
            throw .tooLarge(limit: Limits.encodedMessageMax, have: bytes.count)
        }
        switch bytes.first {
        case nil: throw .truncated(needed: 1, have: 0)
        case UInt8(ascii: "{"): return .plain(json: bytes)
        case UInt8(ascii: "/"): return .signed(try SignedElement(bytes))
        case UInt8(ascii: ">"): return .forward(try ForwardElement(bytes))
        case UInt8(ascii: "F"): return .fileChunk(try FileChunk(bytes))
        default: throw .malformed("an element begins with {, /, > or F")
        }
    }

    /// The element as it travelled.
    package var bytes: [UInt8] {
        switch self {
        case .plain(let json): json
        case .signed(let element): element.bytes
        case .forward(let element): element.bytes
        case .fileChunk(let chunk): chunk.bytes
        }
    }
    /// The JSON of a plain or signed element.
    package var json: [UInt8]? {
        switch self {
        case .plain(let json): json
        case .signed(let element): element.json
        case .forward, .fileChunk: nil
        }
    }
}

/// A signed element: nothing here has been verified yet.
package struct SignedElement: Hashable, Sendable {
    /// `G` group, `D` direct, `C` channel; only `G` can be verified.
    package let binding: UInt8
    package let signatures: [Signature]
    /// The exact bytes that were signed after the prefix.
    package let json: [UInt8]
    /// The whole element, verbatim.
    package let bytes: [UInt8]

    package static let groupBinding = UInt8(ascii: "G")

    package init(_ bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        guard try reader.octet() == UInt8(ascii: "/") else {
            throw .malformed("a signed element begins with /")
        }
        binding = try reader.octet()
        guard [UInt8(ascii: "G"), UInt8(ascii: "D"), UInt8(ascii: "C")].contains(binding) else {
            throw .malformed("a binding is G, D or C")
        }
        let count = try reader.octet()
        guard count >= 1 else { throw .malformed("a signed element has at least one signature") }
        var signatures: [Signature] = []
        for _ in 0..<count {
            guard try reader.octet() == UInt8(ascii: "M") else { throw .malformed("a key reference is M") }
            signatures.append(try reader.signature())
        }
        self.signatures = signatures
        json = reader.tail()
        guard json.first == UInt8(ascii: "{") else { throw .malformed("what is signed is a JSON object") }
        self.bytes = bytes
    }
}

/// A forwarded element: who wrote it, when the relay got it, and the author's bytes.
package struct ForwardElement: Hashable, Sendable {
    package enum Sender: Hashable, Sendable {
        case member(MemberID, name: String)
        /// Unsigned, as the channel.
        case channel
    }
    package let sender: Sender
    /// The relay's time. **Units**: seconds since 1970.
    package let timestamp: Int64
    /// The author's element, plain or signed, verbatim.
    package let inner: [UInt8]
    package let bytes: [UInt8]

    /// Builds one. A member's name is cut to 16 characters and `…` as docs/protocol/channel.md says.
    package init(sender: Sender, timestamp: Int64, inner: [UInt8]) {
        var writer = ByteWriter(reserving: inner.count + 48)
        writer.octet(UInt8(ascii: ">"))
        switch sender {
        case .channel:
            writer.octet(UInt8(ascii: "C"))
            self.sender = sender
        case .member(let id, let name):
            let cut = Self.cut(name)
            writer.octet(UInt8(ascii: "M"))
            writer.len8(id.bytes)
            writer.text8(cut)
            self.sender = .member(id, name: cut)
        }
        writer.int64(timestamp)
        writer.raw(inner)
        self.timestamp = timestamp
        self.inner = inner
        bytes = writer.bytes
    }

    package init(_ bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        guard try reader.octet() == UInt8(ascii: ">") else {
            throw .malformed("a forward element begins with >")
        }
        switch try reader.octet() {
        case UInt8(ascii: "C"): sender = .channel
        case UInt8(ascii: "M"):
            let id = try reader.memberID()
            sender = .member(id, name: try reader.text8())
        default: throw .malformed("a forward element's sender is M or C")
        }
        timestamp = try reader.int64()
        inner = reader.tail()
        guard inner.first == UInt8(ascii: "{") || inner.first == UInt8(ascii: "/") else {
            throw .malformed("only a JSON or a signed element is forwarded")
        }
        self.bytes = bytes
    }

    private static func cut(_ name: String) -> String {
        var cut = name
        if name.count > Limits.forwardNameCharactersMax {
            cut = String(name.prefix(Limits.forwardNameCharactersMax)) + "…"
        }
        // One character can have any number of bytes; the length field has one.
        while cut.utf8.count > Limits.identifierBytesMax { cut.removeLast() }
        return cut
    }
}

/// A piece of a file; here of the roster.
package struct FileChunk: Hashable, Sendable {
    package let message: MessageID
    /// 1 to 255; 0 cancels.
    package let number: UInt8
    package let data: [UInt8]
    package let bytes: [UInt8]

    package init(message: MessageID, number: UInt8, data: [UInt8]) {
        var writer = ByteWriter(reserving: data.count + 24)
        writer.octet(UInt8(ascii: "F"))
        writer.len8([UInt8]())
        writer.len8(message.bytes)
        writer.octet(number)
        writer.raw(data)
        self.message = message
        self.number = number
        self.data = data
        bytes = writer.bytes
    }

    package init(_ bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        guard try reader.octet() == UInt8(ascii: "F") else { throw .malformed("a file chunk begins with F") }
        _ = try reader.len8()
        message = try reader.messageID()
        number = try reader.octet()
        data = reader.tail()
        self.bytes = bytes
    }
}
