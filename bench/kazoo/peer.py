# SPDX-License-Identifier: Apache-2.0
"""The rig's peer that uses kazoo; ../c/peer.h describes the protocol. It has only the verbs that are compared."""
import os
import sys
import threading
import time

from kazoo.client import KazooClient

sessions = {}


def session(server, i):
    if (server, i) not in sessions:
        client = KazooClient(hosts=server, timeout=30.0)
        client.start(timeout=30)
        sessions[server, i] = client
    return sessions[server, i]


def tell(line):
    print(line, flush=True)


def ready_steady(n):
    tell(f"ready n={n}")
    if sys.stdin.readline() != "go\n":
        sys.exit("no go")


def quantiles(samples):
    samples.sort()
    return ",".join(f"{samples[(len(samples) - 1) * q // 100] / 1000:.1f}" for q in range(101)) if samples else ""


def start(function):
    def run():
        try:
            function()
        except BaseException as error:  # no wrong figure is reported
            print(error, file=sys.stderr, flush=True)
            os._exit(1)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def solo(request):
    lock = session(request["server"], 0).Lock(request["path"])
    ops_wanted = int(request.get("ops", 1 << 62))
    window = int(request.get("ms", 3600 * 1000)) * 1000000
    samples = []
    began = now = time.monotonic_ns()
    while len(samples) < ops_wanted and now - began < window:
        lock.acquire()
        lock.release()
        then, now = now, time.monotonic_ns()
        samples.append(now - then)
    tell(f"ok ops={len(samples)} ns={now - began} q={quantiles(samples)}")


def crowd(request):
    n = int(request["n"])
    begin, stop = threading.Event(), threading.Event()
    waits = [[] for _ in range(n)]
    totals = [0] * n

    def contend(i, lock, mine):
        begin.wait()
        while not stop.is_set():
            began = time.monotonic_ns()
            lock.acquire()
            if not stop.is_set():
                mine.append(time.monotonic_ns() - began)
            lock.release()
            totals[i] += 1

    locks = [session(request["server"], i).Lock(request["path"]) for i in range(n)]
    threads = [start(lambda i=i: contend(i, locks[i], waits[i])) for i in range(n)]
    ready_steady(n)
    began = time.monotonic_ns()
    begin.set()
    time.sleep(int(request["ms"]) / 1000)
    stop.set()
    ns = time.monotonic_ns() - began
    for thread in threads:
        thread.join()
    everything = [wait for mine in waits for wait in mine]
    tell(f"ok ops={len(everything)} ns={ns} total={sum(totals)} q={quantiles(everything)}")


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def waiters(request):
    n = int(request["n"])
    path = request["path"]
    client = session(request["server"], 0)
    holder = session(request["server"], 1).Lock(path)
    holder.acquire()
    resident = resident_bytes()

    def take_turn(lock):
        lock.acquire()
        lock.release()

    # A Lock of kazoo is for one thread at a time, so each thread has its own.
    threads = [start(lambda lock=client.Lock(path): take_turn(lock)) for _ in range(n)]
    observer = session(request["observe"], -1)
    while len(observer.get_children(path)) < n + 1:
        time.sleep(0.01)
    ready_steady(n)
    each = (resident_bytes() - resident) // n
    began = time.monotonic_ns()
    holder.release()
    for thread in threads:
        thread.join()
    tell(f"ok ops={n} ns={time.monotonic_ns() - began} resident={each}")


def main():
    verbs = {"solo": solo, "crowd": crowd, "waiters": waiters}
    for line in iter(sys.stdin.readline, ""):
        verb, *words = line.split()
        verbs[verb](dict(word.split("=", 1) for word in words))
    os._exit(0)


main()
