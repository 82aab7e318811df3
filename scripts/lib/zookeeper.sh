# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Real ZooKeeper servers on loopback, from Debian's jars, all below one folder:
#   DIR/connect          the connect string, once every server answers
#   DIR/serverN/         zoo.cfg, data/, log, pid

ZK_JARS=/usr/share/java

zk_host() { echo "127.0.0.$1"; } # Linux answers on all of 127/8; clients see distinct addresses, as in real life

# A free port of 127.0.0.x, below the range that outgoing connections use.
zk_port_free() {
  local node=$1 port=$2
  ! (exec 3<>"/dev/tcp/$(zk_host "$node")/$port") 2>/dev/null
}

# zk_free_port NODES: a port that is free on the address of every node, and not among ZK_TAKEN
zk_free_port() {
  local port node _
  for _ in {1..200}; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    [[ " ${ZK_TAKEN[*]:-} " == *" $port "* ]] && continue
    for ((node = 1; node <= $1; node++)); do
      zk_port_free "$node" "$port" || continue 2
    done
    ZK_TAKEN+=("$port")
    ZK_PORT=$port
    return
  done
  die "found no free port"
}

# zk_ask HOST PORT WORD: one four-letter word, never waiting long
zk_ask() {
  # shellcheck disable=SC2016 # the inner shell expands these
  timeout 1 bash -c 'exec 3<>"/dev/tcp/$0/$1"; printf %s "$2" >&3; cat <&3' "$1" "$2" "$3" 2>/dev/null
}

# zk_pid SERVER_DIR: the pid of the server that runs from there; fails if it does not run. A pid file alone is not
# enough: the process must be a java with this configuration.
zk_pid() {
  local dir=$1 pid argument
  [[ -r $dir/pid ]] && read -r pid <"$dir/pid" && [[ $pid =~ ^[0-9]+$ && -r /proc/$pid/cmdline ]] || return 1
  local -a arguments=()
  while IFS= read -r -d '' argument; do arguments+=("$argument"); done <"/proc/$pid/cmdline"
  [[ ${arguments[0]:-} == *java && ${arguments[-1]} == "$dir/zoo.cfg" ]] || return 1
  echo "$pid"
}

# zk_configure DIR NODES
zk_configure() {
  local dir=$1 nodes=$2 node other client quorum election
  ZK_TAKEN=()
  zk_free_port "$nodes" && client=$ZK_PORT
  zk_free_port "$nodes" && quorum=$ZK_PORT
  zk_free_port "$nodes" && election=$ZK_PORT
  ZK_CLIENT_PORT=$client
  for ((node = 1; node <= nodes; node++)); do
    local home=$dir/server$node
    mkdir -p "$home/data"
    {
      printf '%s\n' "tickTime=500" "dataDir=$home/data" "admin.enableServer=false" \
        "4lw.commands.whitelist=*" "maxClientCnxns=0" "extendedTypesEnabled=true"
      if ((nodes == 1)); then
        printf '%s\n' "clientPort=$client" "clientPortAddress=$(zk_host 1)"
      else
        printf '%s\n' "initLimit=20" "syncLimit=10" "standaloneEnabled=false"
        for ((other = 1; other <= nodes; other++)); do
          local host
          host=$(zk_host "$other")
          echo "server.$other=$host:$quorum:$election:participant;$host:$client"
        done
      fi
    } >"$home/zoo.cfg"
    echo "$node" >"$home/data/myid"
  done
}

# zk_launch SERVER_DIR NODES
zk_launch() {
  local home=$1 main=org.apache.zookeeper.server.ZooKeeperServerMain
  (($2 > 1)) && main=org.apache.zookeeper.server.quorum.QuorumPeerMain
  # No fsync: the data need not survive a power cut, and a busy disk would stall the locks.
  # A session of its own keeps Ctrl-C in this terminal away from the server.
  setsid java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -Dzookeeper.admin.enableServer=false -Dzookeeper.jmx.log4j.disable=true -Dzookeeper.preAllocSize=1024 -Dzookeeper.forceSync=no \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -cp "$ZK_JARS/slf4j-simple.jar:$ZK_JARS/zookeeper.jar" "$main" "$home/zoo.cfg" \
    </dev/null >"$home/log" 2>&1 &
  echo $! >"$home/pid"
}

# zk_await DIR NODES: until every server serves
zk_await() {
  local dir=$1 nodes=$2 node deadline=$((SECONDS + 30))
  for ((node = 1; node <= nodes; node++)); do
    until zk_ask "$(zk_host "$node")" "$ZK_CLIENT_PORT" srvr | grep -q '^Mode:'; do
      # Without a check of the command line: setsid may not have executed java yet.
      kill -0 "$(<"$dir/server$node/pid")" 2>/dev/null || return 1
      ((SECONDS < deadline)) || return 1
      sleep 0.1
    done
  done
}

# zk_start DIR NODES: leaves the connect string in DIR/connect
zk_start() {
  local dir=$1 nodes=$2 node attempt connect
  for attempt in 1 2 3; do
    zk_configure "$dir" "$nodes"
    for ((node = 1; node <= nodes; node++)); do
      zk_launch "$dir/server$node" "$nodes"
    done
    if zk_await "$dir" "$nodes"; then
      connect=''
      for ((node = 1; node <= nodes; node++)); do
        connect+="${connect:+,}$(zk_host "$node"):$ZK_CLIENT_PORT"
      done
      echo "$connect" >"$dir/connect"
      return
    fi
    # Another program may have taken a port before the server's bind: try other ports.
    zk_stop "$dir"
    grep -qs 'Address already in use' "$dir"/server*/log || break
  done
  tail -n 20 "$dir"/server*/log >&2
  die "ZooKeeper did not start (attempt $attempt)"
}

# zk_stop DIR: ends the servers of DIR and nothing else
zk_stop() {
  local dir=$1 home pid _
  for home in "$dir"/server*/; do
    home=${home%/}
    if pid=$(zk_pid "$home"); then
      kill "$pid" 2>/dev/null || true
      for _ in {1..50}; do
        zk_pid "$home" >/dev/null || break
        sleep 0.1
      done
      # Only if it is still that process.
      if pid=$(zk_pid "$home"); then
        kill -KILL "$pid" 2>/dev/null || true
      fi
    fi
    rm -f "$home/pid"
  done
  rm -f "$dir/connect"
}
