# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A container engine: the one that runs, or Debian's, started for the script that asks.

engine_pid=''

engine_answers() { docker info >/dev/null 2>&1; }

# engine_start DIR: sets DOCKER_HOST if it starts one, with its data in DIR.
engine_start() {
  local dir=$1 option=()
  if command -v docker >/dev/null && engine_answers; then
    return
  fi
  ((EUID == 0)) || die "no container engine answers; only root can start one"
  ensure_packages docker.io
  export DOCKER_HOST=unix://$dir/docker.sock
  # Without tables of its own the kernel cannot translate addresses; the containers of compose.yaml need none.
  iptables --table nat --list >/dev/null 2>&1 || option=(--iptables=false --ip6tables=false)
  say "starting an engine"
  dockerd "${option[@]}" --data-root "$dir/engine" --exec-root "$dir/exec" --pidfile "$dir/engine.pid" --host "$DOCKER_HOST" \
    >"$dir/engine.log" 2>&1 &
  engine_pid=$!
  for _ in {1..60}; do
    ! engine_answers || return 0
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 1
  done
  tail -n 20 "$dir/engine.log" >&2
  die "the container engine did not start"
}

engine_stop() {
  [[ -n $engine_pid ]] || return 0
  kill "$engine_pid" 2>/dev/null || true
  wait "$engine_pid" 2>/dev/null || true
  engine_pid=''
}

# engine_base_image DIR NAME: Debian's image from the registry, or made by debootstrap with apt's settings of this machine.
engine_base_image() {
  local dir=$1 name=$2 tree=$1/base
  if docker image inspect "$name" >/dev/null 2>&1; then
    return
  fi
  say "pulling $name"
  if timeout 120 docker pull --quiet "$name" >/dev/null 2>&1; then
    return
  fi
  say "no registry answers: making $name with debootstrap"
  ensure_packages debootstrap
  rm -rf "$tree"
  quietly "$dir/debootstrap.log" debootstrap --variant=minbase bookworm "$tree" || die "debootstrap failed"
  cp /etc/apt/apt.conf.d/* "$tree/etc/apt/apt.conf.d/" 2>/dev/null || true
  rm -f "$tree/var/cache/apt/archives"/*.deb
  tar --create --directory "$tree" . | docker import - "$name" >/dev/null
  rm -rf "$tree"
}
