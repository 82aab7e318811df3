# SPDX-License-Identifier: Apache-2.0
"""What the start of a command under a free lock costs, beside flock(1) and `etcdctl lock`, and where the time goes.

start.py LAB ZKFLOCK [--publish FILE COMMAND]: prints two tables, or puts them into FILE. The times of the first are those of whole
processes, in random order; those of the second are between the system calls that strace prints. etcd has a row if it is installed
(Debian: etcd-client, etcd-server); its data are in memory, as the ZooKeeper server waits for no disk either.
"""
import contextlib
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import report
from lab import Lab

# A server is measured as it runs for days: the first starts warm it up.
WARMING, STARTS, TRACED = 100, 100, 20
CREATE, DELETE, GET_CHILDREN, CLOSE = 15, 2, 8, -11
TRACE = ["strace", "-f", "-ttt", "--seccomp-bpf", "-xx", "-s", "8",
         "-e", "trace=execve,clone,clone3,connect,sendto,recvfrom,exit_group"]
# Each begins where the one before it ends.
STEPS = ("libraries are loaded, options read",
         "the helper processes and the threads of the client start",
         "a server is connected to and opens the session, which a quorum writes",
         "the lock node is created, which a quorum writes, and is the first in the queue",
         "other kinds of lock are looked for: two reads (none with `--mixed`); the guard is armed",
         "the command runs",
         "no process of the command is left",
         "the lock is released, which a quorum writes",
         "the session is closed, which a quorum writes; the threads end")


def run(argv):
    """Milliseconds. What it prints is not shown."""
    begin = time.perf_counter_ns()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    status = os.waitpid(os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet), 0)[1]
    if status != 0:
        sys.exit(f"{' '.join(argv)}: {os.waitstatus_to_exitcode(status)}")
    return (time.perf_counter_ns() - begin) / 1e6


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextlib.contextmanager
def etcd():
    """The address of a server of its own, or None."""
    if shutil.which("etcd") is None or shutil.which("etcdctl") is None:
        yield None
        return
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    with tempfile.TemporaryDirectory(prefix="curator-bench-", dir="/dev/shm") as folder:
        server = subprocess.Popen(["etcd", "--data-dir", folder, "--listen-client-urls", client, "--advertise-client-urls", client,
                                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                   "--initial-cluster", f"default={peer}"], stderr=subprocess.DEVNULL)
        try:
            subprocess.run(["etcdctl", "--endpoints", client, "--dial-timeout=30s", "--command-timeout=30s", "get", "ready"], check=True)
            yield client
        finally:
            server.terminate()
            server.wait()


def measure(zkflock, folder, etcd_address):
    commands = {"`flock FILE true`": ["/usr/bin/flock", f"{folder}/file", "/usr/bin/true"],
                "`zkflock --version`: loading the program and its libraries": [zkflock, "--version"],
                "`zkflock PATH true`": [zkflock, "/speed", "/usr/bin/true"],
                "`zkflock --mixed PATH true`": [zkflock, "--mixed", "/speed", "/usr/bin/true"]}
    if etcd_address:
        commands["`etcdctl lock NAME true`, at an etcd server"] = [shutil.which("etcdctl"), "--endpoints", etcd_address, "lock", "speed",
                                                                   "/usr/bin/true"]
    took = {name: [] for name in commands}
    for argv in list(commands.values()) * WARMING:
        run(argv)
    for _ in range(STARTS):
        for name in random.sample(list(commands), len(commands)):
            took[name].append(run(commands[name]))
    flock = statistics.median(next(iter(took.values())))
    for name, times in took.items():
        yield name, f"{min(times):.1f} ms", f"{statistics.median(times):.1f} ms", f"{statistics.median(times) / flock:.1f}"


class Trace:
    """Of one start: lines of pid, time and text."""

    def __init__(self, text):
        self.lines = [(int(pid), float(when), rest) for pid, when, rest in re.findall(r"^(\d+) +([\d.]+) (.*)$", text, re.M)]
        self.main = self.lines[0][0]

    def first(self, pattern, main=None):
        """The index of the first line that matches; main: only of the first process, or of the others."""
        return next(i for i, (pid, _, text) in enumerate(self.lines)
                    if re.search(pattern, text) and main in (None, pid == self.main))

    def requests(self, kind):
        """(index, xid) of the requests of a type. A request is sent behind its length, and begins with its number and type."""
        wanted = kind.to_bytes(4, "big", signed=True)
        for i, (_, _, text) in enumerate(self.lines):
            found = re.match(r'sendto\(\d+, "((?:\\x..){8})"', text)
            data = bytes.fromhex(found[1].replace("\\x", "")) if found else b""
            if data[4:] == wanted and data[:4] != bytes(4):
                yield i, "".join(f"\\x{byte:02x}" for byte in data[:4])

    def boundaries(self):
        list_xid = next(self.requests(GET_CHILDREN))[1]
        ran = self.first(r'^execve\(.* = 0$', main=False)
        runner = self.lines[ran][0]
        yield 0
        yield self.first(r"^clone")
        yield self.first(r"^connect\(.*AF_INET")
        yield next(self.requests(CREATE))[0]
        yield self.first(r"recvfrom.*\"" + re.escape(list_xid))
        yield ran
        yield next(i for i, (pid, _, text) in enumerate(self.lines) if pid == runner and text.startswith("exit_group"))
        yield next(self.requests(DELETE))[0]
        yield next(self.requests(CLOSE))[0]
        yield self.first(r"^exit_group", main=True)

    def steps(self):
        times = [self.lines[i][1] for i in self.boundaries()]
        return [(end - begin) * 1000 for begin, end in zip(times, times[1:])]


def trace(zkflock, folder):
    traced = []
    for i in range(TRACED):
        file = Path(folder, f"trace-{i}")
        subprocess.run([*TRACE, "-o", str(file), zkflock, "/speed", "/usr/bin/true"], check=True)
        traced.append(Trace(file.read_text("ascii")).steps())
    for step, times in zip(STEPS, zip(*traced)):
        yield step, f"{min(times):.1f} ms", f"{statistics.median(times):.1f} ms"


def document(tables, command, load):
    measured, traced = tables
    yield (f"Measured on {date.today().isoformat()} by `{command}` on {os.cpu_count()} processors, in interleaved rounds; load average "
           f"before the run {load:.1f}{', so compare the ratios only' if load > report.BUSY_LOAD else ''}:")
    yield ""
    yield from report.markdown(("from start to end", f"fastest of {STARTS}", "median", "times flock's"), measured)
    yield ""
    yield f"Where it goes, by the system calls of {TRACED} starts under strace, which takes a part of the time:"
    yield ""
    yield from report.markdown(("step", "fastest", "median"), traced)


def main(lab_program, zkflock, *publish):
    load = os.getloadavg()[0]
    lab = Lab(lab_program)
    os.environ["ZKFLOCK_HOSTS"] = lab.server
    try:
        with tempfile.TemporaryDirectory(prefix="curator-bench-") as folder, etcd() as etcd_address:
            tables = list(measure(zkflock, folder, etcd_address)), list(trace(zkflock, folder))
    finally:
        lab.stop()
    lines = list(document(tables, publish[1] if publish else "scripts/bench --start", load))
    if publish:
        report.replace_measured(Path(publish[0]), lines, "start")
    print("\n".join(lines))


main(*sys.argv[1:])
