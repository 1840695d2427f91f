package import ChannelClient
package import Operations

/// What the library calls an error, as a numbered error for the person at the keyboard.
package enum ClientFailure {
    /// The numbers are stable: a new code gets a new number, a number never changes its meaning.
    package static func number(_ code: ChannelClientError.Code) -> Int {
        switch code {
        case .homeForeign: 500
        case .homeTooNew: 501
        case .homeCorrupt: 502
        case .homeNotWritable: 503
        case .permissionDenied: 504
        case .wrongPassphrase: 508
        case .homeBusy: 505
        case .diskFull: 506
        case .inputOutput: 507
        case .invalidName: 510
        case .invalidAddress: 511
        case .invalidLink: 512
        case .relayAddress: 513
        case .invalidMessageID: 514
        case .noProfile: 515
        case .unknownRelay: 520
        case .relayNameTaken: 521
        case .relayAlreadyListed: 522
        case .relayNotListed: 523
        case .unknownChannel: 524
        case .ambiguousChannel: 525
        case .unknownMessage: 526
        case .messageDeleted: 527
        case .messageTooLarge: 528
        case .unknownMember: 529
        case .invalidText: 530
        case .notOwner: 540
        case .notPermitted: 541
        case .soleOwner: 542
        case .alreadyMember: 543
        case .channelNotCreated: 550
        case .noRelays: 551
        case .refused: 552
        case .tooFewRelays: 553
        case .unreachable: 554
        case .timedOut: 555
        case .invalidRecord: 556
        case .cancelled: 589
        case .shutDown: 590
        case .notImplemented: 591
        case .defect: 592
        }
    }

    /// What would be right, where the library's message does not say it in terms of commands.
    private static func hint(_ code: ChannelClientError.Code) -> String? {
        switch code {
        case .noProfile: "antenna profile NAME sets one"
        case .unknownRelay: "antenna relay list shows the names; antenna relay add NAME ADDRESS adds one"
        case .unknownChannel: "antenna channels shows the names"
        case .ambiguousChannel: "antenna channels --json shows the ids, which are accepted too"
        case .relayNotListed: "antenna relays CHANNEL shows the names"
        case .unknownMessage: "antenna history CHANNEL shows the ids"
        case .unknownMember: "antenna members CHANNEL shows the ids"
        case .soleOwner: "antenna channel delete CHANNEL deletes it for everybody"
        case .alreadyMember: "antenna follow CHANNEL shows what is published"
        case .wrongPassphrase: "--passphrase-file FILE or $ANTENNA_PASSPHRASE_FILE unlocks it"
        case .invalidAddress:
            "it looks like https://HOST/r#KEY?p=PORT; the operator gets it from antennactl address"
        default: nil
        }
    }

    package static func exitCode(_ error: ChannelClientError) -> ExitCode {
        switch error.code {
        // More were asked for than there are: nothing was published.
        case .tooFewRelays where error.receipt == nil: .usage
        // Fewer than asked for, but nobody at all is no partial success.
        case .tooFewRelays: (error.receipt?.acceptedCount ?? 0) > 0 ? .partial : .unavailable
        default: ExitCode(rawValue: error.exitStatus) ?? .unexpected
        }
    }

    static func operatorError(_ error: ChannelClientError) -> OperatorError {
        OperatorError(
            number: number(error.code), name: error.code.rawValue, exitCode: exitCode(error),
            title: error.title,
            message: error.message, hint: hint(error.code))
    }
}
