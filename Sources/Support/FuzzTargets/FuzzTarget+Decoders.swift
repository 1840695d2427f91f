internal import ChannelWire
internal import ClientCore
internal import ControlWire
internal import IniKit
internal import LinkRuntime
internal import Operations
internal import RelayServer

// MARK: - Decoders

extension FuzzBench {
    static func links(_ input: [UInt8]) {
        guard let link = try? AntennaLink.parse(String(decoding: input, as: UTF8.self)) else { return }
        precondition((try? AntennaLink.parse(link.text())) == link, "a link is written and read to the same")
        precondition((try? AntennaLink.parse(link.text(.antenna))) == link, "also with the other scheme")
    }

    static func json(_ input: [UInt8]) {
        guard let value = try? JSONValue.decode(input) else { return }
        precondition((try? JSONValue.decode(value.encode())) == value, "JSON is written and read to the same")
    }

    static func event(_ input: [UInt8]) {
        guard let event = try? Event.decode(json: input) else { return }
        // Escapes can make a text longer than what may be read; that is all that may go wrong.
        guard let again = try? Event.decode(json: event.encode()) else { return }
        precondition(again == event, "an event is written and read to the same")
    }

    static func profile(_ input: [UInt8]) {
        if let profile = try? GroupProfile.decode(json: input) {
            if let again = try? GroupProfile.decode(json: profile.encode()) {
                precondition(again == profile, "a profile is written and read to the same")
            }
        }
        guard let object = try? JSONObject.decode(input) else { return }
        _ = try? Profile(json: object)
        _ = try? GroupPreferences(json: object)
        _ = try? MessageContent(json: object)
    }

    static func element(_ input: [UInt8]) {
        guard let element = try? Element.decode(input) else { return }
        precondition(element.bytes == input, "an element keeps its bytes")
        if let json = element.json { _ = try? Event.decode(json: json) }
    }

    static func body(_ input: [UInt8]) {
        guard let results = try? Body.decode(input, crypto: crypto) else { return }
        precondition(1...Limits.batchCountMax ~= results.count, "a body has 1 to 255 elements")
        var bytes = 0
        for case .success(let element) in results {
            precondition((try? Element.decode(element.bytes)) == element, "an element reads the same alone")
            bytes += element.bytes.count
            if let json = element.json { _ = try? Event.decode(json: json) }
        }
        precondition(bytes <= max(input.count, Limits.decompressedMax), "a body does not grow without bound")
    }

    static func compressed(_ input: [UInt8]) {
        guard let blocks = try? CompressedBody.decode(input, decompress: crypto.decompress) else { return }
        precondition(blocks.reduce(0) { $0 + $1.count } <= Limits.decompressedMax, "within the limit")
    }

    static func record(_ input: [UInt8]) {
        guard let record = try? ChannelRecord.decode(input) else { return }
        precondition(record.bytes == input, "a record keeps its bytes")
        _ = try? VerifiedRecord(input, expected: nil, crypto: crypto)
        guard
            let again = ChannelRecord.make(
                record.content, signer: record.signer, sign: { _ in record.signature })
        else { return }
        precondition((try? ChannelRecord.decode(again.bytes))?.content == record.content, "reads the same")
    }

    static func roster(_ input: [UInt8]) {
        guard let roster = try? Roster(blob: input) else { return }
        precondition((try? Roster(blob: roster.blob())) == roster, "a roster is written and read to the same")
    }

    /// Frames one after the other, as in a record.
    static func frames(_ input: [UInt8]) {
        var rest = input[...]
        while rest.count >= 3 {
            let type = rest[rest.startIndex]
            let length = Int(rest[rest.startIndex + 1]) << 8 | Int(rest[rest.startIndex + 2])
            let body = Array(rest.dropFirst(3).prefix(length))
            rest = rest.dropFirst(3 + length)
            guard let frame = try? Frame.decode(type: type, body: body) else { continue }
            if case .ignored = frame { continue }
            // Our own writer holds itself to less than a reader takes.
            if case .members(let page) = frame, page.rows.count > Limits.membersPageMax { continue }
            let again = frame.encode()
            let twice = try? Frame.decode(type: again[0], body: Array(again.dropFirst(3)))
            if case .error = frame { continue }
            precondition(twice == frame, "a frame is written and read to the same")
        }
    }

    /// What a subscriber makes of an element that a relay forwards.
    static func admission(_ input: [UInt8]) {
        guard case .forward(let forward)? = try? Element.decode(input) else { return }
        let someKey = PublicKey(raw: [UInt8](repeating: 7, count: 32))
        for signs in [false, true] {
            var owners: [MemberID: PublicKey] = [:]
            if signs, case .member(let id, _) = forward.sender, let someKey { owners[id] = someKey }
            let admission = MessageAdmission(
                channel: SessionPeople.channelID, owners: owners, relays: [:], signsMessages: signs,
                onlyOwnersPost: false)
            let verdict = admission.judge(
                forward, member: { _ in MessageAdmission.KnownMember(role: .member, key: someKey) },
                verify: { _, _, _ in signs })
            guard case .take(let admitted) = verdict else { continue }
            precondition(admitted.element == forward.inner, "what is taken is what the author wrote")
            precondition((0...MessageAdmission.timeMax).contains(admitted.time), "at a time of this calendar")
            _ = TimeText.readable(seconds: admitted.time)
        }
    }
}

// MARK: - What stands around the link, and the operator's own

extension FuzzBench {
    static func preface(_ input: [UInt8]) {
        if let client = LinkPreface.Client(bytes: input.prefix(8)) { _ = client.answer(.all) }
        _ = LinkPreface.Relay(bytes: input.prefix(8))
    }

    static func socks(_ input: [UInt8]) {
        guard let target = SOCKS5Target(.name(Array("relay.example".utf8)), port: 5280),
            let credentials = SOCKS5Credentials(name: [117], password: [112])
        else { preconditionFailure("a name and a port are a target") }
        var handshake = SOCKS5Handshake(target: target, credentials: credentials)
        var rest = input[...]
        while true {
            let (used, step) = handshake.received(rest)
            precondition(used <= rest.count, "no more is used than there is")
            rest = rest.dropFirst(used)
            guard case .send = step, used > 0 else { return }
        }
    }

    static func identityFile(_ input: [UInt8]) {
        guard let identity = try? RelayIdentity.decode(input) else { return }
        precondition((try? RelayIdentity.decode(identity.encode())) != nil, "what was read can be written")
    }

    static func control(_ input: [UInt8]) {
        if let request = try? ControlRequest.decode(input) {
            precondition((try? ControlRequest.decode(request.encode())) == request, "reads the same")
            precondition(
                request.arguments.keep ?? 1 >= 1 && request.arguments.limit ?? 1 >= 1, "whole numbers")
        }
        for command in ControlCommand.allCases { _ = ControlResponse.decode(input, to: command) }
        _ = ChannelReference(String(decoding: input, as: UTF8.self))
    }

    static func configuration(_ input: [UInt8]) {
        guard let entries = try? Ini.parse(bytes: input) else { return }
        let settings = try? Configuration(
            options: RelayOptions.table,
            entries: entries.map {
                Configuration.FileEntry(section: $0.section, key: $0.key, value: $0.value, line: $0.line)
            }, path: "f", environment: { _ in nil })
        if let settings { _ = try? RelayConfiguration(settings) }
    }

    static func texts(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        if let seconds = TimeText.parse(text) { _ = TimeText.readable(seconds: seconds) }
        _ = TimeText.parseAge(text)
        _ = Base64URL.decode(text)
        _ = DisplayName.problem(text)
        _ = ChannelID(text: text)
        _ = MemberID(text: text)
    }
}
