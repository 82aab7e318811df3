# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of zkflock(1) for bash. Asks the servers for paths only if ZKFLOCK_HOSTS or -Z names them.

# The words up to the cursor, as zkflock would get them: bash splits at each ":" and "=", too. Sets words, and sources: how many
# of bash's words lie before each of them.
_zkflock_words() {
  local rest=${COMP_LINE:0:COMP_POINT} i word
  words=() sources=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      words+=("") sources+=("$i")
    fi
    ((i < COMP_CWORD)) || word=${rest:0:${#word}}
    words[-1]+=$word
    rest=${rest#"$word"}
  done
}

# Answers with each line of standard input that begins with PREFIX. QUOTED: as typed, in quotes. What the servers say is never expanded.
_zkflock_add() {
  local line
  while IFS= read -r line; do
    if [[ $line == "$1"* || $(printf '%q' "$line") == "$1"* ]]; then
      [[ -n ${2:-} ]] && line=$(printf '%q' "$line")
      # Only what follows the last ":" or "=" is replaced.
      [[ $1 == *[:=]* && $COMP_WORDBREAKS == *:* ]] && line=${line#"${1%"${1##*[:=]}"}"}
      COMPREPLY+=("$line")
    fi
  done
}

_zkflock_add_words() {
  local cur=$1
  shift
  _zkflock_add "$cur" < <(printf '%s\n' "$@")
}

_zkflock_add_paths() {
  [[ -n $hosts ]] || return
  _zkflock_add "$1" quoted < <(ZKFLOCK_HOSTS=$hosts timeout 2 zkflock tree --paths --session-timeout 1 2>/dev/null)
}

# Values of an option; fails if it takes none.
_zkflock_value() {
  case $1 in
    --auth-file | --tls-ca | --tls-crl | --tls-cert | --tls-key | --tls-key-password-file | --sasl-password-file)
      mapfile -t COMPREPLY < <(compgen -f -- "$2")
      ;;
    --sasl) _zkflock_add_words "$2" digest gssapi ;;
    --on-suspend) _zkflock_add_words "$2" continue pause kill ;;
    --acl) _zkflock_add_words "$2" open creator ;;
    --multi) _zkflock_add_paths "$2" ;;
    -Z | --hosts) mapfile -t COMPREPLY < <(compgen -A hostname -- "${2##*[,:]}") ;;
    -N | --leases | -w | --wait | --timeout | -E | --conflict-exit-code | --session-timeout | --connect-timeout | --kill-after | --max-hold | --min-hold | --status-fd | \
      --label | -i | --interval | --iterations | --tls-server-name | --sasl-user | --sasl-server-principal) ;;
    *) return 1 ;;
  esac
}

_zkflock() {
  local words sources hosts=${ZKFLOCK_HOSTS:-} verb='' i word
  local common='-Z --hosts --session-timeout --connect-timeout --auth-file --syslog --verbose -h --help -V --version
    --tls-ca --tls-crl --tls-cert --tls-key --tls-key-password-file --tls-server-name
    --sasl --sasl-user --sasl-password-file --sasl-server-principal'
  local lock='-x -e --exclusive -s --shared -N --leases --multi -n --nb --nonblock -w --wait --timeout -E --conflict-exit-code
    --kill-after --on-suspend --max-hold --min-hold --status-fd --revocable --hold --mixed --label --acl --compression'
  COMPREPLY=()
  _zkflock_words
  local last=$((${#words[@]} - 1))
  local cur=${words[last]}

  for ((i = 1; i < last; i++)); do
    word=${words[i]}
    case $word in
      -Z | --hosts) hosts=${words[i + 1]} && ((i++)) ;;
      --hosts=*) hosts=${word#*=} ;;
      --) ;;
      -*) if [[ $word != *=* ]] && _zkflock_value "$word" "" >/dev/null; then ((i++)); fi ;;
      /*)
        # PATH is followed by another command line.
        if [[ -n $verb ]]; then
          [[ $verb == top ]] || return 0
        elif declare -F _command_offset >/dev/null; then
          _command_offset "${sources[i + 1]}"
          return
        elif ((i + 1 == last)); then
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
          return
        else
          mapfile -t COMPREPLY < <(compgen -f -- "$cur")
          return
        fi
        ;;
      *) [[ -n $verb ]] || verb=$word ;;
    esac
  done
  COMPREPLY=()

  if [[ $cur == --*=* ]]; then
    _zkflock_value "${cur%%=*}" "${cur#*=}"
    return
  elif ((last > 1)) && _zkflock_value "${words[last - 1]}" "$cur"; then
    return
  fi
  case $cur:$verb in
    -*:) read -ra words -d '' <<<"$lock $common" ;;
    -*:top) read -ra words -d '' <<<"$common -i --interval --iterations --json" ;;
    -*:tree) read -ra words -d '' <<<"$common --paths --json" ;;
    -*:reap) read -ra words -d '' <<<"$common -y --yes" ;;
    -*:revoke) read -ra words -d '' <<<"$common -E --conflict-exit-code -w --wait --compression" ;;
    -*:wait) read -ra words -d '' <<<"$common -E --conflict-exit-code -n --nonblock -w --wait" ;;
    -*) read -ra words -d '' <<<"$common --json" ;;
    *:) words=(who top tree revoke wait doctor reap) ;;
    *) words=() ;;
  esac
  _zkflock_add_words "$cur" "${words[@]}"
  [[ $cur == -* ]] || _zkflock_add_paths "$cur"
}

complete -F _zkflock zkflock
