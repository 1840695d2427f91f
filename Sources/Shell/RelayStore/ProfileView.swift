import ChannelWire

/// What the ledger needs of a group profile.
struct ProfileView {
    /// Shape: the profile as JSON; what came from a record stays as its author wrote it.
    let json: [UInt8]
    let title: String
    let signMessages: Bool

    init(json: [UInt8], _ profile: GroupProfile?) {
        self.json = json
        title = profile?.displayName ?? ""
        signMessages = profile?.signsMessages ?? false
    }

    init(json: [UInt8]) {
        self.init(json: json, try? GroupProfile.decode(json: json))
    }

    init(_ record: VerifiedRecord) {
        self.init(json: record.content.profile, record.profile)
    }

    init(_ profile: GroupProfile) {
        self.init(json: profile.encode(), profile)
    }

    /// The same profile with other preferences.
    func replacing(_ preferences: GroupPreferences) -> ProfileView {
        guard var profile = try? GroupProfile.decode(json: json) else { return self }
        profile.preferences = preferences
        return ProfileView(profile)
    }
}
