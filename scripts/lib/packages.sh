# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs missing Debian packages; does nothing if there is none.

PACKAGES_BUILD=(build-essential cmake ninja-build pkg-config python3 libglib2.0-dev libzookeeper-mt-dev
  libgnutls28-dev libsasl2-dev)
PACKAGES_SERVER=(libzookeeper-java libslf4j-java)
PACKAGES_PEERS=(libcurator-recipes-java)
PACKAGES_SECURED=(libnetty-java openssl libsasl2-modules) # TLS and SASL, in containers
PACKAGES_TEST=(
  abigail-tools
  bash-completion
  ca-certificates
  clang
  coccinelle
  docker-compose
  doxygen
  fish
  gnutls-bin
  jq
  libasio-dev
  libcmocka-dev
  libgtest-dev
  libcurl4-gnutls-dev
  libhiredis-dev
  libpq-dev
  krb5-admin-server
  krb5-kdc
  krb5-user
  libnetty-java
  libsasl2-modules
  libsasl2-modules-gssapi-mit
  libsqlite3-dev
  lintian
  libuv1-dev
  mandoc
  openssl
  postgresql
  python3
  python3-prometheus-client
  python3-yaml
  redis-server
  softhsm2
  spin
  valgrind
  zsh
)
PACKAGES_LINT=(clang-tidy clang-format shellcheck)
PACKAGES_BENCH=(python3-kazoo golang-go golang-github-samuel-go-zookeeper-dev gnuplot-nox strace)
PACKAGES_COVERAGE=(gcovr)
PACKAGES_BROWSER=(chromium)
# What scripts/probes builds from others' sources.
PACKAGES_CPPUNIT=(libcppunit-dev)
PACKAGES_PHP=(php-dev php-cli)
PACKAGES_PROOF=(frama-c-base why3 cvc4 z3)
# Not every script needs every group.
export PACKAGES_BUILD PACKAGES_SERVER PACKAGES_PEERS PACKAGES_SECURED PACKAGES_TEST PACKAGES_LINT PACKAGES_BENCH PACKAGES_COVERAGE \
  PACKAGES_PROOF PACKAGES_BROWSER PACKAGES_CPPUNIT PACKAGES_PHP

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

# ensure_packages PACKAGE...
ensure_packages() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system; install the equivalents of these packages: $*"
    return
  fi
  for package in "$@"; do
    package_installed "$package" || missing+=("$package")
  done
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

# A system that debootstrap has made may have no /etc/hosts.
ensure_localhost() {
  if ! getent hosts localhost >/dev/null; then
    say "localhost has no address: adding it to /etc/hosts"
    printf '127.0.0.1\tlocalhost\n' | as_root tee -a /etc/hosts >/dev/null
  fi
}

# Any JDK will do; only without one is Debian's default installed.
ensure_jdk() {
  if command -v javac >/dev/null && command -v java >/dev/null; then
    return
  fi
  ensure_packages default-jdk-headless
}

# A server alone needs no compiler.
ensure_jre() {
  command -v java >/dev/null || ensure_packages default-jre-headless
}

# The sanitizer runtimes of clang are a package of their own, named after clang's version.
ensure_clang_runtime() {
  local major
  major=$(clang -dumpversion | cut -d. -f1)
  if command -v apt-cache >/dev/null && ! package_installed "libclang-rt-$major-dev" &&
    apt-cache show "libclang-rt-$major-dev" >/dev/null 2>&1; then
    ensure_packages "libclang-rt-$major-dev"
  fi
}
