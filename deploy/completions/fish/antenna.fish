# fish completion for antenna, made by: antenna completions fish
function __antenna_line
    set -l skip no
    set -l line
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case --home --passphrase-file --proxy --timeout --relay --description --name --add --as --limit --min-relays --since --after --last --count --before
                set skip yes
            case '-*'
            case '*'
                set -a line $word
        end
    end
    string join ' ' -- $line
end
function __antenna_at
    test (__antenna_line | string collect -a) = "$argv[1]"
end
function __antenna_in
    string match -q -- "$argv[1] *" (__antenna_line | string collect -a)' '
end
complete -c antenna -f
complete -c antenna -n '__antenna_at ""' -a profile -d 'Show or set the name that channels made or joined from now on carry'
complete -c antenna -n '__antenna_at ""' -a passphrase -d 'Lock the keys of this home with a passphrase, or change it'
complete -c antenna -n '__antenna_at ""' -a relay -d 'commands of relay'
complete -c antenna -n '__antenna_at ""' -a channel -d 'commands of channel'
complete -c antenna -n '__antenna_at ""' -a channels -d 'Show the channels of this home'
complete -c antenna -n '__antenna_at ""' -a relays -d 'Show the relays of a channel and where they stand, add or remove them'
complete -c antenna -n '__antenna_at ""' -a link -d 'Show the link that readers join with'
complete -c antenna -n '__antenna_at ""' -a join -d 'Become a subscriber of a channel'
complete -c antenna -n '__antenna_at ""' -a leave -d 'End the own membership'
complete -c antenna -n '__antenna_at ""' -a members -d 'Show who is in a channel'
complete -c antenna -n '__antenna_at ""' -a remove -d 'Remove a member from a channel'
complete -c antenna -n '__antenna_at ""' -a post -d 'Publish a message to all relays of a channel; one receipt line per relay'
complete -c antenna -n '__antenna_at ""' -a edit -d 'Change an own message'
complete -c antenna -n '__antenna_at ""' -a delete -d 'Delete a message for everybody'
complete -c antenna -n '__antenna_at ""' -a follow -d 'Show what is published, as it comes; Ctrl-C ends'
complete -c antenna -n '__antenna_at ""' -a history -d 'Show earlier messages, asked from the relays where they are not here'
complete -c antenna -n '__antenna_at ""' -a outbox -d 'Show what some relay does not have yet'
complete -c antenna -n '__antenna_at ""' -a sync -d 'Send what waits, follow up invitations, and fetch what was missed'
complete -c antenna -n '__antenna_at ""' -a completions -d 'Print what makes a shell complete the words of this program'
complete -c antenna -n '__antenna_at "relay"' -a add -d 'Write a relay into the address book'
complete -c antenna -n '__antenna_at "relay"' -a test -d 'Check address, connection, certificate and signature of a relay'
complete -c antenna -n '__antenna_at "relay"' -a list -d 'Show the address book'
complete -c antenna -n '__antenna_at "relay"' -a remove -d 'Take a relay out of the address book; channels on it stay there'
complete -c antenna -n '__antenna_at "channel"' -a create -d 'Create a channel and invite relays; one result line per relay'
complete -c antenna -n '__antenna_at "channel"' -a list -d 'Show the channels of this home'
complete -c antenna -n '__antenna_at "channel"' -a set -d 'Change a channel\'s name or description'
complete -c antenna -n '__antenna_at "channel"' -a delete -d 'Delete a channel for everybody'
complete -c antenna -n '__antenna_at "channel"' -a forget -d 'Take a channel that was left, or that ended, out of this home with its messages'
complete -c antenna -n '__antenna_at "outbox"' -a discard -d 'Give up on a message that relays refused'
complete -c antenna -n '__antenna_in "channel create"' -l relay -x -d 'a relay of the address book to carry it'
complete -c antenna -n '__antenna_in "channel create"' -l description -x -d 'what it is about'
complete -c antenna -n '__antenna_in "channel create"' -l unsigned -d 'do not sign messages, so that nobody can prove who wrote them'
complete -c antenna -n '__antenna_in "channel delete"' -l yes -s y -d 'do not ask'
complete -c antenna -n '__antenna_in "outbox discard"' -l pending -d 'also where a relay has not answered yet'
complete -c antenna -n '__antenna_in "channel set"' -l description -x -d 'what it is about'
complete -c antenna -n '__antenna_in "channel set"' -l name -x -d 'its name'
complete -c antenna -n '__antenna_in "passphrase"' -l remove -d 'take the passphrase away'
complete -c antenna -n '__antenna_in "history"' -l limit -x -d 'at most so many (default 50)'
complete -c antenna -n '__antenna_in "history"' -l before -x -d 'those before this message'
complete -c antenna -n '__antenna_in "history"' -l local -d 'only what is stored here'
complete -c antenna -n '__antenna_in "members"' -l limit -x -d 'at most so many (default 200)'
complete -c antenna -n '__antenna_in "delete"' -l min-relays -x -d 'succeed (exit 0) as soon as N relays have it'
complete -c antenna -n '__antenna_in "follow"' -l since -x -d 'begin with what came at or after a time, in the last 10m, 2h, 7d, or after a message'
complete -c antenna -n '__antenna_in "follow"' -l after -x -d 'begin after a position, as --json prints them'
complete -c antenna -n '__antenna_in "follow"' -l last -x -d 'begin with the last N messages that are stored here'
complete -c antenna -n '__antenna_in "follow"' -l count -x -d 'end after N messages'
complete -c antenna -n '__antenna_in "relays"' -l add -x -d 'invite this relay of the address book'
complete -c antenna -n '__antenna_in "relays"' -l remove -x -d 'remove this relay'
complete -c antenna -n '__antenna_in "relays"' -l offline -d 'show what is known here; else the relays are asked, for 5 s at most'
complete -c antenna -n '__antenna_in "remove"' -l messages -d 'also delete what the member wrote'
complete -c antenna -n '__antenna_in "edit"' -l min-relays -x -d 'succeed (exit 0) as soon as N relays have it'
complete -c antenna -n '__antenna_in "join"' -l as -x -d 'the name to show in this channel'
complete -c antenna -n '__antenna_in "join"' -l anonymous -d 'show a random name in this channel'
complete -c antenna -n '__antenna_in "link"' -l qr -d 'also as a QR code'
complete -c antenna -n '__antenna_in "post"' -l min-relays -x -d 'succeed (exit 0) as soon as N relays have it'
complete -c antenna -n '__antenna_in "post"' -l as-channel -d 'show the channel as the author'
complete -c antenna -l home -r -F -d 'where keys, channels and messages are kept'
complete -c antenna -l passphrase-file -r -F -d 'a file whose first line unlocks the keys of the home'
complete -c antenna -l proxy -x -d 'a SOCKS5 proxy for everything: socks5://127.0.0.1:9050'
complete -c antenna -l json -d 'one JSON document (a stream: JSON lines) on standard output'
complete -c antenna -l timeout -x -d 'how long to wait for relays (default 30)'
complete -c antenna -l help -s h -d 'show this help, or that of a command'
complete -c antenna -l version -d 'show the version'
