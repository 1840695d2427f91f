/// The limits that this protocol fixes: changing one breaks peers. **Source**: docs/protocol/limits.md, first
/// block.
///
/// What a relay may choose for itself is not here but in its configuration.
package enum Limits {
    /// Ciphertext of one record. **Units**: bytes.
    package static let recordCiphertextMax = 65_535
    /// Plaintext of one record: the ciphertext without its 16-byte tag. **Units**: bytes.
    package static let recordPlaintextMax = 65_519
    /// Body of one frame. **Units**: bytes.
    package static let frameBodyMax = 16_384
    /// One encoded chat message. **Units**: bytes.
    package static let encodedMessageMax = 15_602
    /// One element of a batch: the message without the batch's own four bytes. **Units**: bytes.
    package static let batchElementMax = 15_598
    package static let batchCountMax = 255
    /// A body after decompression. **Units**: bytes.
    package static let decompressedMax = 65_536
    /// Data up to this size is carried as it is inside a compressed body. **Units**: bytes.
    package static let compressionThreshold = 180
    package static let identifierBytesMax = 255
    package static let channelRecordMax = 13_784
    package static let recordOwnersMax = 16
    package static let recordRelaysMax = 16
    package static let errorTextMax = 512
    package static let displayNameCharactersMax = 64
    package static let displayNameBytesMax = 255
    /// Characters of a member's name in a forward element before it is cut.
    package static let forwardNameCharactersMax = 16
    package static let historyPageMax = 500
    package static let newSubscriberHistoryMax = 100
    package static let membersPageMax = 50
    package static let rosterEntriesMax = 256
    package static let rosterBlobMax = 32_768
    /// Relays that a channel link lists.
    package static let linkHostsMax = 3
    /// One link as text. **Units**: bytes.
    package static let linkTextMax = 2_048
    /// Nesting of JSON values.
    package static let jsonDepthMax = 32
}
