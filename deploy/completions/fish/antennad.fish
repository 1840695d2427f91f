# fish completion for antennad, made by: antennad completions fish
function __antennad_line
    set -l skip no
    set -l line
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case --config --state --listen --advertise --name --loops --log-format --log-level --timeout
                set skip yes
            case '-*'
            case '*'
                set -a line $word
        end
    end
    string join ' ' -- $line
end
function __antennad_at
    test (__antennad_line | string collect -a) = "$argv[1]"
end
function __antennad_in
    string match -q -- "$argv[1] *" (__antennad_line | string collect -a)' '
end
complete -c antennad -f
complete -c antennad -n '__antennad_at ""' -a config -d 'commands of config'
complete -c antennad -n '__antennad_at ""' -a healthcheck -d 'Ask the running relay whether it works; ends with 0 or 69'
complete -c antennad -n '__antennad_at ""' -a restore -d 'Put a backup in the place of the database of a stopped relay'
complete -c antennad -n '__antennad_at ""' -a completions -d 'Print what makes a shell complete the words of this program'
complete -c antennad -n '__antennad_at "config"' -a default -d 'Print a settings file with every option, its help and its default'
complete -c antennad -n '__antennad_at "config"' -a check -d 'Check the settings without touching anything'
complete -c antennad -n '__antennad_at "config"' -a show -d 'Print the settings in force and where each comes from'
complete -c antennad -n '__antennad_in "config check"' -l config -r -F -d 'read settings from this file'
complete -c antennad -n '__antennad_in "config check"' -l state -r -F -d 'the relay\'s state directory'
complete -c antennad -n '__antennad_in "config check"' -l listen -x -d 'where to listen (default 127.0.0.1:5280)'
complete -c antennad -n '__antennad_in "config check"' -l advertise -x -d 'what goes into links'
complete -c antennad -n '__antennad_in "config check"' -l name -x -d 'the name that owners see'
complete -c antennad -n '__antennad_in "config check"' -l loops -x -d 'threads that serve links (default: one for each processor)'
complete -c antennad -n '__antennad_in "config check"' -l log-format -x -d 'how events are written'
complete -c antennad -n '__antennad_in "config check"' -l log-level -x -d 'debug, info, notice, warning or error'
complete -c antennad -n '__antennad_in "config show"' -l config -r -F -d 'read settings from this file'
complete -c antennad -n '__antennad_in "config show"' -l state -r -F -d 'the relay\'s state directory'
complete -c antennad -n '__antennad_in "config show"' -l listen -x -d 'where to listen (default 127.0.0.1:5280)'
complete -c antennad -n '__antennad_in "config show"' -l advertise -x -d 'what goes into links'
complete -c antennad -n '__antennad_in "config show"' -l name -x -d 'the name that owners see'
complete -c antennad -n '__antennad_in "config show"' -l loops -x -d 'threads that serve links (default: one for each processor)'
complete -c antennad -n '__antennad_in "config show"' -l log-format -x -d 'how events are written'
complete -c antennad -n '__antennad_in "config show"' -l log-level -x -d 'debug, info, notice, warning or error'
complete -c antennad -n '__antennad_in "healthcheck"' -l config -r -F -d 'read settings from this file'
complete -c antennad -n '__antennad_in "healthcheck"' -l state -r -F -d 'the relay\'s state directory'
complete -c antennad -n '__antennad_in "healthcheck"' -l listen -x -d 'where to listen (default 127.0.0.1:5280)'
complete -c antennad -n '__antennad_in "healthcheck"' -l advertise -x -d 'what goes into links'
complete -c antennad -n '__antennad_in "healthcheck"' -l name -x -d 'the name that owners see'
complete -c antennad -n '__antennad_in "healthcheck"' -l loops -x -d 'threads that serve links (default: one for each processor)'
complete -c antennad -n '__antennad_in "healthcheck"' -l log-format -x -d 'how events are written'
complete -c antennad -n '__antennad_in "healthcheck"' -l log-level -x -d 'debug, info, notice, warning or error'
complete -c antennad -n '__antennad_in "healthcheck"' -l timeout -x -d 'give up after this long (default 5)'
complete -c antennad -n '__antennad_in "restore"' -l config -r -F -d 'read settings from this file'
complete -c antennad -n '__antennad_in "restore"' -l state -r -F -d 'the relay\'s state directory'
complete -c antennad -n '__antennad_in "restore"' -l listen -x -d 'where to listen (default 127.0.0.1:5280)'
complete -c antennad -n '__antennad_in "restore"' -l advertise -x -d 'what goes into links'
complete -c antennad -n '__antennad_in "restore"' -l name -x -d 'the name that owners see'
complete -c antennad -n '__antennad_in "restore"' -l loops -x -d 'threads that serve links (default: one for each processor)'
complete -c antennad -n '__antennad_in "restore"' -l log-format -x -d 'how events are written'
complete -c antennad -n '__antennad_in "restore"' -l log-level -x -d 'debug, info, notice, warning or error'
complete -c antennad -n '__antennad_in "restore"' -F
complete -c antennad -n '__antennad_at ""' -l config -r -F -d 'read settings from this file'
complete -c antennad -n '__antennad_at ""' -l state -r -F -d 'the relay\'s state directory'
complete -c antennad -n '__antennad_at ""' -l listen -x -d 'where to listen (default 127.0.0.1:5280)'
complete -c antennad -n '__antennad_at ""' -l advertise -x -d 'what goes into links'
complete -c antennad -n '__antennad_at ""' -l name -x -d 'the name that owners see'
complete -c antennad -n '__antennad_at ""' -l loops -x -d 'threads that serve links (default: one for each processor)'
complete -c antennad -n '__antennad_at ""' -l log-format -x -d 'how events are written'
complete -c antennad -n '__antennad_at ""' -l log-level -x -d 'debug, info, notice, warning or error'
complete -c antennad -n '__antennad_at ""' -l check-config -d 'check the settings, touch nothing, and end'
complete -c antennad -n '__antennad_at ""' -l print-address -d 'print the link for owners on standard output'
complete -c antennad -l json -d 'print errors and answers as one JSON document'
complete -c antennad -l help -s h -d 'show this help, or that of a command'
complete -c antennad -l version -d 'show the version'
