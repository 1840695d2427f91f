import ChannelWire

/// The examples of SimpleX's own tests, and ones made from its field lists.
enum EventExamples {
    private static let key = "MCowBQYDK2VwAyEA7UkoxijRwsbq6QM4kFmVYSlZJzpcY_k2NsFGFKyHN9E="
    private static let emptyRosterDigest =
        "XqcdxtC09Xvzmq3QfCCMNfBs0rrF_eIQOX9w3hHUOcYuwc3zGDdYhl_Th_zqC62i9sN6SheFHdHXj-_m8gTuVA=="
    private static let linkKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

    static let all: [(tag: EventTag, json: String)] = messages + members + channel + relays

    private static func example(
        _ tag: EventTag, _ params: String, v: String = "9", id: String? = nil
    ) -> (tag: EventTag, json: String) {
        let messageID = id.map { #""msgId":"\#($0)","# } ?? ""
        return (tag, #"{"v":"\#(v)",\#(messageID)"event":"\#(tag.rawValue)","params":\#(params)}"#)
    }

    private static let messages = [
        example(.msgNew, #"{"content":{"text":"hello","type":"text"}}"#),
        example(.msgNew, #"{"content":{"text":"hello","type":"text"},"ttl":3600}"#),
        example(.msgNew, #"{"content":{"text":"hello","type":"text"},"live":true}"#),
        example(.msgNew, #"{"content":{"text":"hello","type":"text"},"forward":true}"#, id: "AQIDBA=="),
        example(
            .msgNew,
            #"{"content":{"text":"hello","type":"text"},"file":{"fileSize":12345,"fileName":"photo.jpg"}}"#),
        example(
            .msgNew,
            #"{"content":{"text":"hello to you too","type":"text"},"quote":{"content":{"text":"hello there!","#
                + #""type":"text"},"msgRef":{"msgId":"BQYHCA==","sent":true,"#
                + #""sentAt":"1970-01-01T00:00:01.000000001Z"}}}"#,
            v: "9-19", id: "AQIDBA=="),
        example(.msgNew, #"{"content":{"text":"","reason":"spam","type":"report"}}"#),
        example(
            .msgNew, #"{"content":{"text":"@bob","type":"text"},"mentions":{"bob":{"memberId":"AQIDBA=="}}}"#),
        example(
            .msgNew, #"{"content":{"text":"hi","type":"text"},"asGroup":true}"#, v: "9-19", id: "AQIDBA=="),
        example(.msgUpdate, #"{"msgId":"AQIDBA==","content":{"text":"hello","type":"text"}}"#),
        example(
            .msgUpdate,
            #"{"msgId":"AQIDBA==","content":{"text":"hello","type":"text"},"asGroup":true,"ttl":1}"#),
        example(.msgDel, #"{"msgId":"AQIDBA=="}"#),
        example(.msgDel, #"{"msgId":"AQIDBA==","memberId":"BQYHCA==","onlyHistory":true}"#),
        example(.msgReact, #"{"msgId":"AQIDBA==","reaction":{"type":"emoji","emoji":"👍"},"add":true}"#),
        example(
            .msgReact,
            #"{"msgId":"AQIDBA==","memberId":"BQYHCA==","reaction":{"type":"new","x":1},"add":false}"#),
        example(.msgDeleted, "{}"),
        example(.fileCancel, #"{"msgId":"AQIDBA=="}"#),
    ]

    private static let members = [
        example(
            .info,
            #"{"profile":{"fullName":"Alice","displayName":"alice","image":"data:image/png;base64,AA==","#
                + #""preferences":{"reactions":{"allow":"yes"},"voice":{"allow":"yes"}}}}"#),
        example(
            .member,
            #"{"profile":{"displayName":"bob","fullName":""},"newMemberId":"REEwT0R4QVJFaE1VRlJZWA==","#
                + #""newMemberKey":"\#(key)","viaRelay":"QUFFQ0F3UUZCZ2NJQ1FvTA=="}"#, v: "9-19"),
        example(.grpAcpt, #"{"memberId":"AQIDBA=="}"#),
        example(
            .grpMemNew,
            #"{"memberInfo":{"memberRole":"admin","memberId":"AQIDBA==","v":"9-19","#
                + #""profile":{"fullName":"Alice","displayName":"alice"}}}"#),
        example(
            .grpMemIntro,
            #"{"memberInfo":{"memberRole":"owner","memberId":"AQIDBA==","memberKey":"\#(key)","#
                + #""profile":{"fullName":"Alice","displayName":"alice"}}}"#),
        example(.grpMemCon, #"{"memberId":"AQIDBA=="}"#),
        example(
            .grpMemRole,
            #"{"memberId":"REEwT0R4QVJFaE1VRlJZWA==","memberKey":"\#(key)","role":"moderator","rosterVersion":1}"#
        ),
        example(.grpMemRestrict, #"{"memberId":"AQIDBA==","memberRestrictions":{"restriction":"blocked"}}"#),
        example(.grpMemDel, #"{"memberId":"AQIDBA=="}"#),
        example(.grpMemDel, #"{"memberId":"AQIDBA==","messages":true,"rosterVersion":2}"#),
        example(.grpLeave, "{}"),
        example(
            .grpLinkInv,
            #"{"groupLinkInvitation":{"fromMember":{"memberId":"AQIDBA==","memberRole":"relay"},"#
                + #""fromMemberName":"relay","invitedMember":{"memberId":"BQYHCA==","memberRole":"observer"},"#
                + #""groupProfile":{"displayName":"news","fullName":""},"accepted":"accepted"}}"#),
        example(.ok, "{}", v: "9-19"),
    ]

    private static let channel = [
        example(
            .grpInfo,
            #"{"groupProfile":{"fullName":"Team","displayName":"team","description":"Welcome","shortDescr":"s","#
                + #""memberAdmission":{"review":"all"},"groupPreferences":{"reactions":{"enable":"on"},"#
                + #""voice":{"enable":"on"}},"publicGroup":{"groupType":"channel","groupLink":"antenna:/c#\#(linkKey)","#
                + #""publicGroupId":"NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4=","publicGroupAccess":{}}}}"#
        ),
        example(
            .grpPrefs,
            #"{"groupPreferences":{"signMessages":{"enable":"on"},"history":{"enable":"off"},"#
                + #""files":{"enable":"on","role":"member"}}}"#),
        example(.grpDel, "{}"),
        example(
            .grpRoster, #"{"version":1,"fileInv":{"fileSize":2,"fileDigest":"\#(emptyRosterDigest)"}}"#,
            v: "9-19", id: "AQIDBA=="),
        example(.grpRosterAck, #"{"version":0}"#),
        example(.grpRosterAck, #"{"version":7,"error":"too large"}"#),
        example(.grpRosterRequest, #"{"version":1}"#),
    ]

    private static let relays = [
        example(
            .grpRelayInv,
            #"{"groupRelayInvitation":{"fromMember":{"memberId":"QUFFQ0F3UUZCZ2NJQ1FvTA==","memberRole":"owner"},"#
                + #""fromMemberProfile":{"displayName":"alice","fullName":""},"#
                + #""relayMemberId":"REEwT0R4QVJFaE1VRlJZWA==","groupLink":"https://smp.example.com/c#\#(linkKey)"}}"#,
            v: "9-19"),
        example(
            .grpRelayAcpt,
            #"{"relayLink":"https://smp.example.com/g#\#(linkKey)","relayCap":{"webDomain":"relay.example.com"}}"#,
            v: "9-19"),
        example(.grpRelayReject, #"{"reason":"rejoin_rejected"}"#, v: "9-19"),
        example(.grpRelayNew, #"{"relayLink":"https://smp.example.com/g#\#(linkKey)"}"#),
        example(.grpRelayCap, #"{"relayCap":{}}"#),
        example(.grpRelayTest, #"{"challenge":"NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4="}"#),
        example(
            .grpRelayTest,
            #"{"challenge":"NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4=","signature":"\#(emptyRosterDigest)"}"#
        ),
    ]
}
