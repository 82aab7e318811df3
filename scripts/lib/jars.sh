# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's jars that ZooKeeper needs for TLS; netty-all has no handlers for TLS.

netty_jars() {
  local parts=(buffer codec common handler resolver transport transport-native-epoll transport-native-unix-common)
  local IFS=:
  echo "${parts[*]/#//usr/share/java/netty-}" | sed 's/:/.jar:/g; s/$/.jar/'
}
