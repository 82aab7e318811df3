# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs missing Debian packages; does nothing if there is none.

# Groups, for ensure_packages and curator_needs (). PROGRAM:PACKAGE is there if any package, or none, has the program.
PACKAGES_BUILD=(build-essential cmake ninja-build pkg-config python3 libglib2.0-dev libzookeeper-mt-dev
  libgnutls28-dev libsasl2-dev)
PACKAGES_SERVER=(libzookeeper-java libslf4j-java java:default-jre-headless)
PACKAGES_PEERS=(libcurator-recipes-java javac:default-jdk-headless)
PACKAGES_SECURED=(libnetty-java openssl libsasl2-modules) # TLS and SASL
PACKAGES_KERBEROS=(krb5-admin-server krb5-kdc krb5-user libsasl2-modules-gssapi-mit)
PACKAGES_CLANG=(clang libclang-rt-dev)
PACKAGES_LINT=(clang-tidy clang-format shellcheck)
PACKAGES_BENCH=(python3-kazoo golang-go golang-github-samuel-go-zookeeper-dev gnuplot-nox strace)
# What scripts/probes builds from others' sources.
PACKAGES_CPPUNIT=(libcppunit-dev)
PACKAGES_PHP=(php-dev php-cli)
PACKAGES_PROOF=(frama-c-base why3 cvc4 z3)
# Found by their names.
export PACKAGES_BUILD PACKAGES_SERVER PACKAGES_PEERS PACKAGES_SECURED PACKAGES_KERBEROS PACKAGES_CLANG PACKAGES_LINT PACKAGES_BENCH \
  PACKAGES_CPPUNIT PACKAGES_PHP PACKAGES_PROOF

# needs all|NAME...: what the tests and programs of these names need, by the calls of curator_needs () in all CMakeLists.txt
needs() {
  local call patterns pattern name
  while read -r call; do
    read -ra patterns <<<"${call%% NEED *}"
    for pattern in "${patterns[@]}"; do
      # shellcheck disable=SC2053 # it may be a pattern
      for name; do [[ $name == all || $name == $pattern ]] && echo "${call##* NEED }"; done
    done
  done < <(cd "$ROOT" && find tests bench examples demo -name CMakeLists.txt -exec \
    sed -nE 's/^ *curator_needs\((.* NEED .*)\)$/\1/p' {} +) | tr ' ' '\n' | sort -u
}

# missing GROUP|PACKAGE|PROGRAM:PACKAGE...: the packages of these that are not here; none where there is no dpkg
missing() {
  local need group
  command -v dpkg-query >/dev/null || return 0
  for need; do
    if [[ $need =~ ^[A-Z]+$ ]]; then
      local -n group=PACKAGES_$need
      missing "${group[@]}"
    elif [[ $need == *:* ]]; then
      command -v "${need%:*}" >/dev/null || echo "${need#*:}"
    else
      package_installed "$need" || echo "$need"
    fi
  done
}

package_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "cannot install packages: neither root nor sudo. As root, run: ${*:2}"
  fi
}

# Turns apt's output into one line per package that is being set up.
package_progress() {
  awk '
    / newly installed/ { for (i = 1; i < NF; i++) if ($(i + 1) == "newly") total = $i }
    /^Get:|^Fetched / { if (!fetching++) { print "    downloading"; fflush() } }
    /^Setting up / { printf "    [%d/%s] %s\n", ++n, total ? total : "?", $3; fflush() }
    /^(E|W): / { print "    " $0; fflush() }' >&2
}

# ensure_packages GROUP|PACKAGE|PROGRAM:PACKAGE...
ensure_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system; install the equivalents of these packages: $*"
    return
  fi
  mapfile -t missing < <(missing "$@" | sort -u)
  ((${#missing[@]})) || return 0

  heading "Installing ${#missing[@]} packages and their dependencies"
  say "${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root apt-get -q update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
      -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"; } 2>&1 |
    tee "$log" | package_progress; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    die "packages could not be installed"
  fi
  rm -f "$log"
}

# ensure_needs all|NAME...: of tests and programs
ensure_needs() {
  local words
  mapfile -t words < <(needs "$@")
  ensure_packages BUILD "${words[@]}"
}

# A system that debootstrap has made may have no /etc/hosts.
ensure_localhost() {
  if ! getent hosts localhost >/dev/null; then
    say "localhost has no address: adding it to /etc/hosts"
    printf '127.0.0.1\tlocalhost\n' | as_root tee -a /etc/hosts >/dev/null
  fi
}
