# SPDX-License-Identifier: Apache-2.0
# Completion of zkflock(1) for fish. Asks the servers for paths only if ZKFLOCK_HOSTS or -Z names them.

# Where the line is: prints "first", "command" and how many words lie before the command, or the verb and how many paths follow it.
function __fish_zkflock_place
    set -l words (commandline -opc)
    set -l verb first
    set -l n_paths 0
    set -l i 2
    while test $i -le (count $words)
        switch $words[$i]
            case -Z --hosts -N --leases --multi -w --wait --timeout -E --conflict-exit-code --session-timeout --connect-timeout --kill-after --max-hold --min-hold --status-fd \
                    --on-suspend --label --auth-file --acl -i --interval --iterations --tls-ca --tls-crl --tls-cert --tls-key \
                    --tls-key-password-file --tls-server-name --sasl --sasl-user --sasl-password-file --sasl-server-principal
                set i (math $i + 1)
            case '-*'
            case '/*'
                if test $verb = first
                    echo command $i
                    return
                end
                set n_paths (math $n_paths + 1)
            case '*'
                test $verb = first; and set verb $words[$i]
        end
        set i (math $i + 1)
    end
    echo $verb $n_paths
end

# __fish_zkflock_is PLACE...
function __fish_zkflock_is
    set -l place (string split ' ' (__fish_zkflock_place))
    contains -- $place[1] $argv
end

function __fish_zkflock_wants_path
    set -l place (string split ' ' (__fish_zkflock_place))
    switch $place[1]
        case first top
            return 0
        case who tree revoke wait doctor reap
            test $place[2] -eq 0
        case '*'
            return 1
    end
end

function __fish_zkflock_paths
    set -l words (commandline -opc)
    set -l hosts $ZKFLOCK_HOSTS
    for i in (seq 2 (count $words))
        switch $words[$i]
            case -Z --hosts
                set hosts $words[(math $i + 1)]
            case '--hosts=*'
                set hosts (string replace -- --hosts= '' $words[$i])
        end
    end
    test -n "$hosts"; or return
    ZKFLOCK_HOSTS=$hosts timeout 2 zkflock tree --paths --session-timeout 1 2>/dev/null
end

function __fish_zkflock_command
    set -l place (string split ' ' (__fish_zkflock_place))
    set -l words (commandline -opc)
    set -e words[1..$place[2]]
    set -l line (string escape -- $words) (commandline -ct)
    test -n "$(commandline -ct)"; or set -a line ''
    complete --do-complete="$line"
end

set -l views top who tree revoke wait doctor reap
complete -c zkflock -f
complete -c zkflock -n '__fish_zkflock_is command' -a '(__fish_zkflock_command)'
complete -c zkflock -n '__fish_zkflock_wants_path' -a '(__fish_zkflock_paths)' -d Lock
complete -c zkflock -n '__fish_zkflock_is first' -a who -d 'Holders and waiters of a lock'
complete -c zkflock -n '__fish_zkflock_is first' -a top -d 'The locks, live'
complete -c zkflock -n '__fish_zkflock_is first' -a tree -d 'Every lock below a path'
complete -c zkflock -n '__fish_zkflock_is first' -a revoke -d 'Ask the holder to release the lock'
complete -c zkflock -n '__fish_zkflock_is first' -a wait -d 'Until a lock is free'
complete -c zkflock -n '__fish_zkflock_is first' -a doctor -d 'Present and coming problems'
complete -c zkflock -n '__fish_zkflock_is first' -a reap -d 'Delete lock nodes that no session owns'

set -l common "__fish_zkflock_is first $views"
complete -c zkflock -n $common -s Z -l hosts -x -a '(__fish_print_hostnames)' -d Servers
complete -c zkflock -n $common -l session-timeout -x -d 'Session timeout to request'
complete -c zkflock -n $common -l connect-timeout -x -d 'Give up connecting after this long'
complete -c zkflock -n $common -l auth-file -r -F -d Credentials
complete -c zkflock -n $common -l tls-ca -r -F -d 'CAs to trust'
complete -c zkflock -n $common -l tls-crl -r -F -d 'List of revoked certificates'
complete -c zkflock -n $common -l tls-cert -r -F -d 'Our certificate'
complete -c zkflock -n $common -l tls-key -r -F -d 'Key of our certificate'
complete -c zkflock -n $common -l tls-key-password-file -r -F -d 'Password of the key'
complete -c zkflock -n $common -l tls-server-name -x -d 'Name in the certificates of the servers'
complete -c zkflock -n $common -l sasl -x -a 'digest gssapi' -d 'Authenticate by SASL'
complete -c zkflock -n $common -l sasl-user -x -d User
complete -c zkflock -n $common -l sasl-password-file -r -F -d 'Password of the user'
complete -c zkflock -n $common -l sasl-server-principal -x -d 'Principal of the servers'
complete -c zkflock -n $common -l syslog -d 'Send messages to syslog, too'
complete -c zkflock -n $common -l verbose -d 'Report each step with its time'
complete -c zkflock -n $common -s h -l help -d 'Show help'
complete -c zkflock -n $common -s V -l version -d 'Show versions'
complete -c zkflock -n '__fish_zkflock_is top who tree doctor' -l json -d 'Print JSON'
complete -c zkflock -n '__fish_zkflock_is reap' -s y -l yes -d 'Delete without a question'
complete -c zkflock -n '__fish_zkflock_is tree' -l paths -d 'Print only the paths'
complete -c zkflock -n '__fish_zkflock_is top' -s i -l interval -x -d 'Time between refreshes'
complete -c zkflock -n '__fish_zkflock_is top' -l iterations -x -d 'Number of refreshes'
complete -c zkflock -n '__fish_zkflock_is first revoke wait' -s E -l conflict-exit-code -x -d 'Exit code for conflict or timeout'

set -l lock '__fish_zkflock_is first'
complete -c zkflock -n $lock -s x -s e -l exclusive -d 'Take the write side of a read-write lock'
complete -c zkflock -n $lock -s s -l shared -d 'Take the read side of a read-write lock'
complete -c zkflock -n $lock -s N -l leases -x -d 'Take one of COUNT leases of a semaphore'
complete -c zkflock -n $lock -l multi -x -a '(__fish_zkflock_paths)' -d 'Another path; all are held or none'
complete -c zkflock -n '__fish_zkflock_is first wait' -s n -l nonblock -l nb -d 'Fail instead of waiting'
complete -c zkflock -n '__fish_zkflock_is first revoke wait' -s w -l wait -l timeout -x -d 'Wait at most this long'
complete -c zkflock -n $lock -l kill-after -x -d 'Time from TERM to KILL'
complete -c zkflock -n $lock -l max-hold -x -d 'Hold at most this long'
complete -c zkflock -n $lock -l min-hold -x -d 'Hold at least this long'
complete -c zkflock -n $lock -l status-fd -x -d 'Write what happens to this descriptor'
complete -c zkflock -n $lock -l on-suspend -x -a 'continue pause kill' -d 'While the hold is in doubt'
complete -c zkflock -n $lock -l hold -d 'Without a command, hold until a signal'
complete -c zkflock -n $lock -l mixed -d 'Run beside locks of another kind at the path'
complete -c zkflock -n $lock -l revocable -d 'End the command when another client asks for the lock'
complete -c zkflock -n $lock -l label -x -d 'Label that other clients see'
complete -c zkflock -n $lock -l acl -x -a 'open creator' -d 'Access to created nodes'
complete -c zkflock -n '__fish_zkflock_is first revoke' -l compression -d 'Write payloads and requests in gzip'
