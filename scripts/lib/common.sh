# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by all scripts: the project's folder, and messages to the user.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly ROOT

if [[ -t 2 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
  BOLD='' DIM='' RED='' GREEN='' PLAIN=''
fi
# Not every script uses every colour.
export BOLD DIM RED GREEN PLAIN

# Messages go to stderr, so that a script's result on stdout can be captured.
heading() { printf '%s==> %s%s\n' "$BOLD" "$*" "$PLAIN" >&2; }
say() { printf '    %s\n' "$*" >&2; }
die() {
  printf '%s%s: %s%s\n' "$RED" "$(basename "$0")" "$*" "$PLAIN" >&2
  exit 1
}
usage_error() {
  printf '%s: %s; try --help\n' "$(basename "$0")" "$*" >&2
  exit 64
}

jobs_default() { nproc 2>/dev/null || echo 2; }

# is_count TEXT: a positive whole number
is_count() { [[ $1 =~ ^[1-9][0-9]{0,6}$ ]]; }

# quietly LOG COMMAND...: runs it with its output in LOG, which is shown only if it fails.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

# configure BUILD_DIR CMAKE-ARGUMENT...
configure() {
  local dir=$1
  shift
  say "configuring $(realpath -m --relative-to="$ROOT" "$dir")"
  (cd "$ROOT" && quietly "$dir/configure.log" cmake "$@")
}
