import ChannelClient
import PosixKit
import Testing

// begin README
func firstHour(relayAddress: String, ownerHome: String, readerHome: String) async throws -> [String] {
    let owner = try ChannelClient(home: ownerHome)
    try await owner.setProfile(displayName: "alice")
    try await owner.addRelay(name: "home", address: relayAddress)
    let creation = try await owner.createChannel(name: "news", relays: ["home"])

    let reader = try ChannelClient(home: readerHome)
    try await reader.setProfile(displayName: "bob")
    _ = try await reader.join(link: creation.link)
    let receipt = try await owner.publish("hello", to: "#news")
    print("on \(receipt.acceptedCount) of \(receipt.relays.count) disks")

    var texts: [String] = []
    for try await item in reader.follow("#news", since: .beginning) {
        if case .message(let message) = item.kind { texts.append(message.text) }
        if texts.count == 1 { break }
    }
    return texts
}
// end README

@Suite("The example of the README")
struct ReadmeTests {
    @Test("is this file's, word for word")
    func same() throws {
        let here = String(decoding: try Posix.readFile(#filePath), as: UTF8.self)
        let room = Posix.directory(of: #filePath) + "/../../../Sources/Shell/ChannelClient/README.md"
        let readme = String(decoding: try Posix.readFile(room), as: UTF8.self)
        let code = try #require(here.between("// begin README\n", "// end README"))
        let shown = try #require(readme.between("```swift\n", "```"))
        #expect("import ChannelClient\n\n" + code == shown)
    }

    @Test("does what it says")
    func runs() async throws {
        let relay = try TestRelay()
        let homes = try ["owner", "reader"].map { try Posix.makeTemporaryDirectory(prefix: "antenna-\($0)-") }
        defer { homes.forEach(Posix.removeTree) }
        let address = relay.address
        let texts = try await within {
            try await firstHour(relayAddress: address, ownerHome: homes[0], readerHome: homes[1])
        }
        #expect(texts == ["hello"])
    }
}

extension String {
    /// The text between two marks, the first of each.
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard let from = firstRange(of: start)?.upperBound,
            let to = self[from...].firstRange(of: end)?.lowerBound
        else { return nil }
        return String(self[from..<to])
    }
}
