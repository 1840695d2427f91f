# fish completion for antennactl, made by: antennactl completions fish
function __antennactl_line
    set -l skip no
    set -l line
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case --state --socket --timeout --limit --after --reason --keep
                set skip yes
            case '-*'
            case '*'
                set -a line $word
        end
    end
    string join ' ' -- $line
end
function __antennactl_at
    test (__antennactl_line | string collect -a) = "$argv[1]"
end
function __antennactl_in
    string match -q -- "$argv[1] *" (__antennactl_line | string collect -a)' '
end
complete -c antennactl -f
complete -c antennactl -n '__antennactl_at ""' -a status -d 'Show how the relay is doing'
complete -c antennactl -n '__antennactl_at ""' -a address -d 'Show the link that owners add this relay with'
complete -c antennactl -n '__antennactl_at ""' -a channels -d 'List the channels that the relay carries or refuses'
complete -c antennactl -n '__antennactl_at ""' -a members -d 'List the members of a channel'
complete -c antennactl -n '__antennactl_at ""' -a leave -d 'Leave a channel; future invitations will be rejected'
complete -c antennactl -n '__antennactl_at ""' -a allow -d 'Clear a relay rejection, so that the channel may invite again'
complete -c antennactl -n '__antennactl_at ""' -a group -d 'commands of group'
complete -c antennactl -n '__antennactl_at ""' -a relay -d 'commands of relay'
complete -c antennactl -n '__antennactl_at ""' -a invitations -d 'List the invitations that wait for you'
complete -c antennactl -n '__antennactl_at ""' -a accept -d 'Accept an invitation'
complete -c antennactl -n '__antennactl_at ""' -a reject -d 'Reject an invitation; the owner may invite again later'
complete -c antennactl -n '__antennactl_at ""' -a forget -d 'Delete what is kept of a channel that is not served; a rejection stays'
complete -c antennactl -n '__antennactl_at ""' -a audit -d 'List what operators did with channels, the newest first'
complete -c antennactl -n '__antennactl_at ""' -a rotate-key -d 'Make a new key for links; the address stays'
complete -c antennactl -n '__antennactl_at ""' -a prune -d 'Drop what is over the limits of a channel\'s log, or of all, now'
complete -c antennactl -n '__antennactl_at ""' -a reload -d 'Read the settings anew, as at the signal HUP'
complete -c antennactl -n '__antennactl_at ""' -a backup -d 'Write a copy of the database while the relay works'
complete -c antennactl -n '__antennactl_at ""' -a version -d 'Show the versions of this program and of the relay'
complete -c antennactl -n '__antennactl_at ""' -a completions -d 'Print what makes a shell complete the words of this program'
complete -c antennactl -n '__antennactl_at "group"' -a allow -d 'Clear a relay rejection, so that the channel may invite again'
complete -c antennactl -n '__antennactl_at "relay"' -a allow -d 'Clear a relay rejection, so that the channel may invite again'
complete -c antennactl -n '__antennactl_in "address"' -l qr -d 'draw it as a QR code, also where no terminal is seen'
complete -c antennactl -n '__antennactl_in "members"' -l limit -x -d 'the most rows (default 1000)'
complete -c antennactl -n '__antennactl_in "members"' -l after -x -d 'begin after this member id'
complete -c antennactl -n '__antennactl_in "backup"' -F
complete -c antennactl -n '__antennactl_in "reject"' -l reason -x -d 'told to the owner (default not_accepted)'
complete -c antennactl -n '__antennactl_in "audit"' -l limit -x -d 'the most rows (default 100)'
complete -c antennactl -n '__antennactl_in "leave"' -l reason -x -d 'kept in the audit'
complete -c antennactl -n '__antennactl_in "prune"' -l keep -x -d 'leave only so many of the newest messages'
complete -c antennactl -l state -r -F -d 'the relay\'s state directory'
complete -c antennactl -l socket -r -F -d 'the relay\'s control socket, instead of the one in its state directory'
complete -c antennactl -l timeout -x -d 'give up after this long (default 10; 3600 for backup)'
complete -c antennactl -l json -d 'print one JSON document, errors too'
complete -c antennactl -l help -s h -d 'show this help, or that of a command'
complete -c antennactl -l version -d 'show the version'
