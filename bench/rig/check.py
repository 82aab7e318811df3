# SPDX-License-Identifier: Apache-2.0
"""The short form for the tests: only figures that do not depend on timing. A proxy counts requests and bytes, the server
counts watches. Where the bound is what Java needs, Java does the same work in the same run. Times are not checked.

check.py LAB PEER CLASSPATH-FILE [JAVA]
"""
import sys
import time
from pathlib import Path

from lab import Cast, Failure, Lab

OPS = 200
QUEUE = 8
MEMBERS = 8  # as in recipe.c
DELAY_MS = 200  # beside which a busy machine's own time is short
SESSION_MS = 4000

failures = 0


def check(what, holds, figures):
    global failures
    failures += not holds
    print(f"{'ok  ' if holds else 'FAIL'} {what}: {figures}", flush=True)


def costs(counts):
    """The requests for the locks: without pings and heartbeats, which depend on the clock."""
    wanted = {key: value for key, value in counts.items() if value and key not in ("all", "ping", "multi")}
    return counts["all"] - counts["multi"], wanted


class Bench:
    def __init__(self, lab, cast):
        self.lab, self.cast = lab, cast
        self.paths = 0
        self.base = 0  # watches that existed before, such as Java's on the ensemble's configuration

    def where(self):
        self.paths += 1
        return f"server={self.lab.proxy} observe={self.lab.server} path=/check/{self.paths}"

    def again(self):
        """The last path, whose parents exist."""
        return f"server={self.lab.proxy} observe={self.lab.server} path=/check/{self.paths}"

    def solo(self, name, recipe, options=""):
        """Requests and bytes of OPS acquisitions when the parents exist."""
        peer = self.cast.peer(name)
        where = self.where()
        peer.ask(f"solo {where} recipe={recipe} ops=10 {options}")
        self.lab.settle()
        self.lab.ask("reset")
        peer.ask(f"solo {where} recipe={recipe} ops={OPS} {options}")
        self.lab.settle()
        return self.lab.counts()

    def queue(self, name, request, steps=0):
        """Requests, bytes and watches of a queue that forms and then drains, in single steps if steps is not 0."""
        peer = self.cast.peer(name)
        where = self.where()
        # Once uncounted: it opens the sessions and creates the parents.
        verb, after = request.split(" ", 1)
        peer.ask(f"{verb} {where} {after}", "ready")
        peer.ask("go")
        self.lab.settle()
        self.lab.ask("reset")
        self.base = self.lab.monitor()["zk_watch_count"]
        peer.ask(f"{verb} {where} {after}{' stepwise=1' if steps else ''}", "ready")
        self.lab.settle()
        watches = self.lab.monitor()["zk_watch_count"] - self.base
        for _ in range(steps):
            peer.ask("go", "ready")
            self.lab.settle()
        peer.ask("go")
        self.lab.settle()
        return self.lab.counts(), watches

    def no_watch_is_left(self, what):
        watches = self.lab.monitor()["zk_watch_count"] - self.base
        check(f"{what}: watches left", watches == 0, watches)


def check_uncontended(bench, java):
    for recipe, each in (("mutex", 3), ("read", 3), ("write", 3), ("semaphore", 6), ("semmutex", 6)):
        theirs = bench.solo("java", recipe) if java else None
        # A semaphore looks once for another recipe at its path.
        looks = 1 if recipe.startswith("sem") else 0
        for options in ("", "async=1"):
            counts = bench.solo("c", recipe, options)
            requests, kinds = costs(counts)
            # A lock that is held for more than a moment watches its own node; on a slow machine some do.
            late = kinds.pop("get", 0)
            check(f"uncontended {recipe} {options}: {each} requests", requests - late - looks == each * OPS and late <= OPS / 10, kinds)
            check(f"uncontended {recipe} {options}: as many creates, lists and deletes",
                  kinds["create2"] == kinds["list"] - looks == kinds["delete"] == each * OPS // 3, kinds)
            for way in ("to_server", "to_client"):
                if theirs:
                    check(f"uncontended {recipe} {options}: bytes {way}, at most Java's", counts[way] <= 1.03 * theirs[way],
                          f"{counts[way] / OPS:.0f} against {theirs[way] / OPS:.0f}")


def check_multi_lock(bench):
    """Eight mutexes: all creates, all lists, one transaction that deletes. Its time in units of a delay."""
    for options, most in (("", 2.25), ("async=1", 1.25)):
        counts = bench.solo("c", "multi", options)
        kinds = costs(counts)[1]
        late = kinds.pop("get", 0)
        check(f"multi-lock of {MEMBERS} {options}: a create and a list for each member, no single delete",
              kinds == {"create2": MEMBERS * OPS, "list": MEMBERS * OPS, "to_server": counts["to_server"],
                        "to_client": counts["to_client"]} and late <= MEMBERS * OPS / 10, kinds)
        # The rest are heartbeats.
        check(f"multi-lock of {MEMBERS} {options}: one transaction to release", OPS <= counts["multi"] <= OPS + OPS / 10,
              counts["multi"])
        bench.lab.ask(f"delay {DELAY_MS}")
        answer = bench.cast.peer("c").ask(f"solo {bench.again()} recipe=multi ops=15 {options}")
        bench.lab.ask("delay 0")
        trips = float(answer["q"].split(",")[50]) / 1000 / DELAY_MS
        check(f"multi-lock of {MEMBERS} {options}: at most {most} round trips", trips <= most, f"{trips:.2f}")


def check_tries(bench):
    """A create, a list and a delete where another session holds the lock; nothing where the same one does."""
    for own, each in (("", 3), ("own=1", 0)):
        peer = bench.cast.peer("c")
        peer.ask(f"try {bench.where()} ops={OPS} {own}", "ready")
        bench.lab.ask("reset")
        peer.ask("go", "ready")
        bench.lab.settle()
        requests, kinds = costs(bench.lab.counts())
        peer.ask("go")
        # An idle session reads now and then, and a lock that is held for long reads its own node.
        late = kinds.pop("exists", 0) + kinds.pop("get", 0)
        check(f"refused try {own}: {each} requests", requests - late == each * OPS and late <= OPS / 10, kinds)


def check_succession(bench):
    """One session: a create and a delete for each waiter. The first one and the holder need a constant number more."""
    counts, watches = bench.queue("c", f"waiters n={OPS}")
    requests, kinds = costs(counts)
    check("local succession: 2 requests", 2 * OPS <= requests <= 2 * OPS + 12, kinds)
    check("local succession: watches", watches <= 2, watches)
    bench.no_watch_is_left("local succession")


def check_queue(bench, java):
    """A session for each waiter: create, list, watch the two nodes in front, list again when the further one goes, delete.
    The first in line learns from its first list that nothing else is in front, and needs no second one."""
    request = f"line first=mutex:{QUEUE} in_turn=1"
    counts, watches = bench.queue("c", request, steps=QUEUE)
    kinds = costs(counts)[1]
    # A watch that lasts long is read again at intervals, so the number of reads is not exact.
    check(f"hand-off among {QUEUE}: a create and a delete each, 2 lists each except for the holder and the first",
          (kinds["create2"], kinds["delete"], kinds["list"]) == (QUEUE + 1, QUEUE + 1, 2 * QUEUE), kinds)
    check("hand-off: at most 2 watches each, and 1 of the holder", watches <= 2 * QUEUE + 1, watches)
    bench.no_watch_is_left("hand-off")
    counts, _ = bench.queue("c", request)
    requests, kinds = costs(counts)
    # Without a pause between grant and release, some must list again to see whether the node in front is the holder.
    check("hand-off without a pause: at most 8 requests each", requests <= 8 * QUEUE, kinds)
    if java:
        theirs, _ = bench.queue("java", request)
        for way, more in (("to_server", 1.5), ("to_client", 1.4)):
            check(f"hand-off: bytes {way}, at most {more} times Java's", counts[way] <= more * theirs[way],
                  f"{counts[way] / QUEUE:.0f} against {theirs[way] / QUEUE:.0f}")


def check_readers(bench):
    """A reader watches only the nearest writer, however many there are: create, list, watch, list, delete."""
    readers, writers = 24, 6
    counts, _ = bench.queue("c", f"line first=write:{writers} then=read:{readers} in_turn=1")
    requests, kinds = costs(counts)
    check(f"{readers} readers behind {writers} writers: at most 5 requests for a reader and 8 for a writer",
          requests <= 5 * readers + 8 * writers + 3, kinds)
    bench.no_watch_is_left("readers")


def check_heartbeat(bench):
    peer = bench.cast.peer("c")
    sixth_ns = SESSION_MS * 1e6 / 6
    timeout = peer.ask(f"hold {bench.where()} ms={SESSION_MS} session_ms={SESSION_MS}", "ready")["timeout_ms"]
    began = time.monotonic_ns()
    bench.lab.ask("reset")
    peer.ask("go")
    counts = bench.lab.counts()
    ns = time.monotonic_ns() - began
    check("heartbeat: at most one per sixth of the session timeout",
          int(timeout) == SESSION_MS and 0 < counts["multi"] <= ns / sixth_ns + 1, f"{counts['multi']} in {ns / sixth_ns:.1f}")
    # Except for reads of its own node, at intervals, and the release.
    check("heartbeat: no other requests while a lock is held", counts["all"] - counts["multi"] <= 3 + ns / 1e9,
          costs(counts)[1])


def main(lab_program, peer_program, classpath, java=None):
    lab = Lab(lab_program)
    programs = {"c": [peer_program]}
    if java:
        programs["java"] = [java, "-XX:TieredStopAtLevel=1", "-cp", Path(classpath).read_text(encoding="utf-8"), "BenchPeer"]
    cast = Cast(programs, lab, lambda *_: None)
    bench = Bench(lab, cast)
    try:
        check_uncontended(bench, java)
        check_multi_lock(bench)
        check_tries(bench)
        check_succession(bench)
        check_queue(bench, java)
        check_readers(bench)
        check_heartbeat(bench)
    except Failure as failure:
        check("every process replies", False, failure)
    finally:
        cast.stop()
        lab.stop()
    return 1 if failures else 0


sys.exit(main(*sys.argv[1:]))
