# SPDX-License-Identifier: Apache-2.0
"""What many sessions cost an ensemble of three servers while nothing changes."""
import os
import resource
import time
from pathlib import Path
from statistics import mean

from lab import Failure, Process, Server, fields

SESSION_MS = 30000
WINDOW = 1  # session timeouts that are measured, after as long a time that is not
OF_A_PROCESS = 1000  # sessions
WARM_UP_MS = 3000  # for each server
THREADS = 6  # of a session of bench_peer
DESCRIPTORS = 6  # of a session, at most
SPARE_THREADS = 300  # for three servers, and for what else starts meanwhile
# Transactions of a session in the time of a session timeout, as docs/operations.md says.
HOLDER, NEXT, FURTHER = 6, 4, 1


class EnsembleLab(Process):
    """Three servers with empty data."""

    def __init__(self, program):
        super().__init__("bench_lab", [program, "ensemble"])
        where = fields(self.line())
        self.server = where["server"]
        self.servers = [Server(address, int(pid))
                        for address, pid in zip(where["server"].split(","), where["pids"].split(","))]
        leader = [server for server in self.servers if "Mode: leader" in server.four_letter(b"srvr")]
        if len(leader) != 1:
            raise Failure("the ensemble has no leader")
        self.leader = leader[0]
        self.followers = [server for server in self.servers if server is not self.leader]

    def transactions(self):
        """How many this leader has proposed: the lower half of the last one's zxid."""
        line = next(line for line in self.leader.four_letter(b"srvr").splitlines() if line.startswith("Zxid: "))
        return int(line.split()[1], 16) & 0xffffffff

    def sample(self, peers):
        """Counters of this moment."""
        return {"ns": time.monotonic_ns(), "transactions": self.transactions(),
                "requests": sum(server.monitor()["zk_packets_received"] for server in self.servers),
                "leader": self.leader.cpu_ns(), "follower": mean(server.cpu_ns() for server in self.followers),
                "client": sum(peer.cpu_ns() for peer in peers)}


def expected(n, queue):
    """Transactions in the time of a session timeout. queue: sessions on each path; 0: idle."""
    if not queue:
        return 0
    return n // queue * (HOLDER + NEXT * (queue > 1) + FURTHER * max(0, queue - 2))


def _limit(path):
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max", or not on this system
        return float("inf")


def require(n):
    """Fails if this machine allows too few threads or descriptors for n sessions."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = DESCRIPTORS * min(n, OF_A_PROCESS) + 100
    if descriptors < wanted:
        raise Failure(f"{n:,} sessions need {wanted:,} descriptors in a process; ulimit -Hn is {descriptors:,}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    running = int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].split("/")[1])
    wanted = THREADS * n + SPARE_THREADS + running
    for name in ("pid_max", "threads-max"):
        allowed = _limit(f"/proc/sys/kernel/{name}")
        if allowed < wanted:
            raise Failure(f"{n:,} sessions need {wanted:,} threads with those that run; kernel.{name} is {allowed:,}")


def _warm_up(lab, program, warm_up_ms):
    peer = Process("c", program)
    for i, server in enumerate(lab.servers):
        peer.ask(f"crowd server={server.address} path=/bench/warm-{i} n=8 apart=1 ms={warm_up_ms}", "ready")
        peer.ask("go")
    peer.stop()


def _open(lab, program, path, n, queue, session_ms, peers):
    """Adds processes to peers, and returns when all sessions have what they shall keep."""
    for first in range(0, n, OF_A_PROCESS):
        # One process after the other: more new sessions at a time would lose their connections again.
        peers.append(Process("c", program))
        answer = peers[-1].ask(f"sessions server={lab.server} path={path} first={first} n={min(OF_A_PROCESS, n - first)} "
                               f"queue={queue} session_ms={session_ms}", "ready")
        if int(answer["timeout_ms"]) != session_ms:
            raise Failure(f"the session timeout is {answer['timeout_ms']} ms")


def _figures(lab, peers, n, queue, session_ms):
    before = lab.sample(peers)
    time.sleep(WINDOW * session_ms / 1000)
    after = lab.sample(peers)
    seconds = (after["ns"] - before["ns"]) / 1e9
    rates = {key: (after[key] - before[key]) / seconds for key in before}
    return {"sessions": n, "transactions": rates["transactions"], "expected": expected(n, queue) / session_ms * 1000,
            "requests": rates["requests"], "leader_cpu": rates["leader"] / 1e7, "follower_cpu": rates["follower"] / 1e7,
            "most_connections": max(server.monitor()["zk_num_alive_connections"] for server in lab.servers),
            "each_cpu": rates["client"] / 1000 / n, "leader_mb": lab.leader.size()["resident_mb"],
            "follower_mb": mean(server.size()["resident_mb"] for server in lab.followers),
            "client_kb": sum(peer.size()["resident_mb"] for peer in peers) * 1024 / n,
            "client_threads": sum(peer.size()["threads"] for peer in peers) / n,
            "client_descriptors": sum(len(os.listdir(f"/proc/{peer.pid}/fd")) for peer in peers) / n}


def measure(lab_program, program, path, n, queue, session_ms, warm_up_ms):
    """The figures of n sessions that are idle, or queue on a path for each `queue` of them."""
    require(n)
    lab = EnsembleLab(lab_program)
    peers = []
    try:
        if warm_up_ms:
            _warm_up(lab, program, warm_up_ms)
        _open(lab, program, path, n, queue, session_ms, peers)
        time.sleep(session_ms / 1000)
        figures = _figures(lab, peers, n, queue, session_ms)
        answers = [peer.ask("go") for peer in peers]
    finally:
        for peer in peers:
            peer.kill()  # the ensemble goes, too
        lab.stop()
    granted, interrupted = (sum(int(answer[key]) for answer in answers) for key in ("granted", "interrupted"))
    if interrupted or granted != (n // queue if queue else 0):
        raise Failure(f"{interrupted} connections were lost and {granted} sessions hold: too slow a machine for these figures")
    return figures
