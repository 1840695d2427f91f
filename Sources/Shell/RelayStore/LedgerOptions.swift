package import RelayCore

/// The relay's own limits and tastes, as far as the ledger holds to them. Source: docs/protocol/limits.md,
/// second table.
package struct LedgerOptions: Equatable, Sendable {
    package var admission = Admission.Policy.open
    package var channelsMax: Int64 = 10_000
    package var pendingInvitationsMax: Int64 = 1_000
    /// Invitations taken up from one address, at once and again in each day. 0: no limit.
    package var invitationsPerSourceMax: Int64 = 500
    package var membersPerChannelMax: Int64 = 100_000
    /// Units: bytes of one element.
    package var messageBytesMax = 15_602
    package var retention = Retention()
    /// The log of a channel that is not served any more goes after this. Units: seconds.
    package var unservedLogSeconds: Int64 = 86_400
    /// How large the database may grow before messages are refused. Nil: as large as the volume allows.
    package var quotaBytes: Int64?
    /// What the operator's own commands may take beyond the quota: a full relay must still be able to leave
    /// and prune.
    package var quotaSlackBytes: Int64 = 4 << 20
    /// Messages are refused while the volume has less free than this. Pruning needs room in the write-ahead
    /// log.
    package var volumeReserveBytes: Int64 = 8 << 20
    /// How large the write-ahead log may become while somebody's long read keeps it from being emptied; one
    /// transaction more at most.
    package var walBytesMax: Int64 = 512 << 20
    /// About how much of logs one transaction drops: all of it passes through the write-ahead log.
    package var dropBytesMax: Int64 = 4 << 20
    /// The name under which the relay signs off when it leaves a channel.
    package var relayName = "relay"
    package var auditRowsMax: Int64 = 100_000

    package init() {}
}
