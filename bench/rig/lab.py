# SPDX-License-Identifier: Apache-2.0
"""Processes: the lab (a server and a proxy) and the peers. Each answers one line with one line."""
import os
import select
import socket
import subprocess
import time
from pathlib import Path

ANSWER_S = 300  # longer than any request takes on any machine


class Failure(Exception):
    """A process gave a wrong answer or none."""


def fields(line):
    """"ok a=1 b=2" to {"a": "1", "b": "2"}"""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


class Running:
    """What a process has used so far."""

    def __init__(self, pid):
        self.pid = pid

    def cpu_ns(self):
        """Processor time of the whole process so far. Linux encodes the pid in the clock's id."""
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def size(self):
        """Resident bytes and threads of the process."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return {"resident_mb": int(values["VmRSS"].split()[0]) / 1024, "threads": int(values["Threads"])}


class Server(Running):
    """A ZooKeeper server."""

    def __init__(self, address, pid):
        super().__init__(pid)
        self.address = address

    def four_letter(self, word):
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(word)
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode("ascii", "replace")

    def monitor(self):
        """Its own counters, from "mntr"."""
        pairs = (line.split("\t") for line in self.four_letter(b"mntr").splitlines() if "\t" in line)
        return {key: int(value) for key, value in pairs if value.isdigit()}


class Process(Running):
    """A child that reads requests on stdin and writes one line for each on stdout."""

    def __init__(self, name, argv):
        self.name = name
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        super().__init__(self.child.pid)
        self.rest = b""

    def line(self):
        deadline = time.monotonic() + ANSWER_S
        while b"\n" not in self.rest:
            readable, _, _ = select.select([self.child.stdout], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.child.stdout.fileno(), 65536) if readable else b""
            if not data:
                raise Failure(f"{self.name}: no answer" if not readable else f"{self.name} has ended")
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("ascii")

    def send(self, line):
        try:
            self.child.stdin.write(line.encode("ascii") + b"\n")
        except BrokenPipeError:
            raise Failure(f"{self.name} has ended") from None

    def ask(self, line, expect="ok"):
        self.send(line)
        answer = self.line()
        if not answer.startswith(expect):
            raise Failure(f"{self.name}: {line}: {answer}")
        return fields(answer)

    def stop(self, patience_s=30):
        try:
            self.child.stdin.close()
            self.child.wait(patience_s)
        except (OSError, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()

    def kill(self):
        self.child.kill()
        self.stop()


class Lab(Process):
    """One server, and one proxy in front of it that counts and delays."""

    def __init__(self, program, *arguments):
        super().__init__("bench_lab", [program, *arguments])
        where = fields(self.line())
        self.server = where["server"]
        self.proxy = where["proxy"]
        self.server_process = Server(self.server, int(where["pid"]))
        # Of a secured server: its port with TLS, the certificates, and what Java needs for TLS.
        self.secure, self.folder, self.jars = (where.get(key) for key in ("secure", "folder", "jars"))

    def server_cpu_ns(self):
        return self.server_process.cpu_ns()

    def counts(self):
        return {key: int(value) for key, value in self.ask("counts").items()}

    def monitor(self):
        return self.server_process.monitor()

    def settle(self):
        """Waits until no request has reached the server for a moment, other than this one and perhaps a ping. With many
        waiters some client always reads or pings, so it gives up after half a minute."""
        deadline = time.monotonic() + 30
        before = self.monitor()
        while time.monotonic() < deadline:
            time.sleep(0.15)
            now = self.monitor()
            if now["zk_packets_received"] - before["zk_packets_received"] <= 2 and now["zk_outstanding_requests"] == 0:
                return
            before = now


class Cast:
    """Starts peers when they are first needed, and warms them up."""

    def __init__(self, programs, lab, warm_up):
        self.programs = programs  # name to argv
        self.lab = lab
        self.warm_up = warm_up
        self.playing = {}

    def peer(self, name, role="main"):
        """The peer of that name and role; two roles of one name are two processes."""
        if (name, role) not in self.playing:
            peer = Process(name, self.programs[name])
            self.playing[name, role] = peer
            self.warm_up(peer, self.lab, role)
        return self.playing[name, role]

    def dismiss(self, name, role, patience_s=30):
        if (name, role) in self.playing:
            self.playing.pop((name, role)).stop(patience_s)

    def dismiss_all(self, name):
        for peer, role in list(self.playing):
            if peer == name:
                self.dismiss(peer, role, 1)  # it may hang

    def has(self, name):
        return name in self.programs

    def stop(self):
        for peer in self.playing.values():
            peer.stop()
        self.playing.clear()
