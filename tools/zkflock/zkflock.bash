# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion for zkflock(1). Asks the servers for paths of locks only if ZKFLOCK_HOSTS is set.

_zkflock_paths() {
  [[ -n ${ZKFLOCK_HOSTS:-} ]] || return
  local path
  while read -r path _; do
    [[ $path == /* ]] && printf '%s\n' "$path"
  done < <(timeout 2 zkflock tree --session-timeout 1 2>/dev/null)
}

# compgen -W would expand its words, and a path may hold "$(...)".
_zkflock_complete_paths() {
  local path
  while IFS= read -r path; do
    [[ $path == "$1"* ]] && COMPREPLY+=("$(printf '%q' "$path")")
  done < <(_zkflock_paths)
}

_zkflock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local verbs='who top tree revoke doctor' i word
  local options='-x --exclusive -s --shared -N --leases --multi -n --nonblock -w --wait -E --conflict-exit-code -Z --hosts
    --session-timeout --connect-timeout --kill-after --on-suspend= --revocable --label --auth-file --acl= --interval --iterations --json --verbose
    -h --help -V --version'
  COMPREPLY=()

  # PATH is followed by another command line.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      -N | --leases | --multi | -w | --wait | -E | --conflict-exit-code | -Z | --hosts | --session-timeout | --connect-timeout | --kill-after | \
        --label | --auth-file | --interval | --iterations) ((i++)) ;;
      /*)
        if declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        return
        ;;
    esac
  done

  case $prev in
    --auth-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") && return ;;
    --on-suspend | =) mapfile -t COMPREPLY < <(compgen -W 'continue pause kill open creator' -- "${cur#=}") && return ;;
    --acl) mapfile -t COMPREPLY < <(compgen -W 'open creator' -- "$cur") && return ;;
    --multi) _zkflock_complete_paths "$cur" && return ;;
    -N | --leases | -w | --wait | -E | --conflict-exit-code | --session-timeout | --connect-timeout | --kill-after | --label | --interval | \
      --iterations) return ;;
    -Z | --hosts) mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur") && return ;;
  esac
  case $cur in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur") ;;
    *)
      mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
      _zkflock_complete_paths "$cur"
      ;;
  esac
}

complete -F _zkflock zkflock
