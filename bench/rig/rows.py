# SPDX-License-Identifier: Apache-2.0
"""What is measured: each row is one workload, with entries (the competitors) and targets.

A measurement returns metrics by name:
  rate          acquisitions per second               (higher is better)
  trips         time of an acquire and release, or of a try, in units of the delay of an answer   (lower is better, here and below)
  seconds       time until all have had the lock and the server has confirmed it
  turns         time until all have had the lock
  requests, writes, reads, pings, to_server, to_client   per acquisition, counted by the proxy or the server
  cpu_us, server_cpu_us                               processor time per acquisition
  resident, bytes                                     memory per waiter or lock
"""
import itertools
import time
from dataclasses import dataclass, field

import ensemble
from secured import CLEAR, SASL, TLS

LOOPBACK = "loopback"
DELAYED = "1 ms"
TRIP_MS = 40  # beside which a machine's own time is short
TRIP_OPS = 15
COUNTED_OPS = 200
WRITES = ("create", "create2", "container", "delete", "multi")  # what goes through the leader and its disk

HIGHER_IS_BETTER = {"rate"}
_numbers = itertools.count()


@dataclass(frozen=True)
class Entry:
    """One competitor: a peer, perhaps with options. The label is unique in its row."""

    label: str
    peer: str
    options: str = ""

    @property
    def confirmed(self):
        """Its release waits for the server's answer. No ratio compares one that does with one that does not."""
        return "async=1" not in self.options


OURS = Entry("C", "c")
OURS_ASYNC = Entry("C, asynchronous release", "c", "async=1")
# The requests of a mutex and nothing else: no cleanup, no clock.
BARE = Entry("libzookeeper alone", "c", "recipe=bare")
BARE_ASYNC = Entry("libzookeeper alone, asynchronous delete", "c", "recipe=bare async=1")
BARE_SEMAPHORE = Entry(BARE.label, "c", "recipe=bare-semaphore")
BARE_SEMAPHORE_ASYNC = Entry(BARE_ASYNC.label, "c", "recipe=bare-semaphore async=1")
# Without libzookeeper, too.
SOCKET = Entry("a socket alone", "c", "recipe=bare-socket")
SOCKET_ASYNC = Entry("a socket alone, asynchronous delete", "c", "recipe=bare-socket async=1")
SOCKETS = {OURS: SOCKET, OURS_ASYNC: SOCKET_ASYNC}
JAVA = Entry("Java", "java")
KAZOO = Entry("kazoo", "kazoo")
GO = Entry("go", "go")
MACHINE = Entry("the machine", "")  # has a load average


@dataclass(frozen=True)
class Target:
    """One of three: at least factor times as good as another entry in the same round; at most limit, whatever others do; or
    no measurable loss against another entry, that is, the ratios of the rounds reach 1."""

    entry: Entry
    metric: str
    factor: float = None
    limit: float = None
    no_loss: bool = False
    against: Entry = JAVA


@dataclass
class Row:
    name: str
    title: str
    entries: list
    measure: object  # (rig, row, entry) to metrics
    targets: list = field(default_factory=list)
    show: str = "rate"  # the metric of the tables
    unit: str = "/s"
    net: str = LOOPBACK
    slices: int = 1  # of a round: in each of them every competitor has a turn
    slow: bool = False  # left out of a quick run
    named: bool = False  # left out unless --only names it
    part: str = "single"  # of the documents, as report.PARTS
    n: int = 0

    def __post_init__(self):
        assert all(t.limit is not None or t.entry.confirmed == t.against.confirmed for t in self.targets), self.name


def fresh_path(row):
    """A new path for each measurement, so that what one leaves behind does not disturb the next."""
    return f"/bench/{row.name.replace('.', '-')}-{next(_numbers)}"


class Meter:
    """What a piece of work costs the peer, the server and the network."""

    def __init__(self, rig, peer, proxied):
        self.rig, self.peer, self.proxied = rig, peer, proxied

    def __enter__(self):
        if self.proxied:
            self.rig.lab.ask("reset")
        self.cpu, self.server_cpu = self.peer.cpu_ns(), self.rig.server_cpu_ns()
        return self

    def metrics(self, ops):
        result = {"cpu_us": (self.peer.cpu_ns() - self.cpu) / ops / 1000,
                  "server_cpu_us": (self.rig.server_cpu_ns() - self.server_cpu) / ops / 1000}
        if self.proxied:
            counts = self.rig.lab.counts()
            result |= {"requests": counts["all"] / ops, "to_server": counts["to_server"] / ops,
                       "to_client": counts["to_client"] / ops}
        return result

    def __exit__(self, *_):
        return False


def quantiles(answer):
    return [float(value) for value in answer["q"].split(",")] if answer.get("q") else []


# Of a measurement on loopback, where a machine's speed changes from second to second.
SLICE_MS = 100


def measure_solo(recipe):
    def measure(rig, row, entry):
        peer = rig.cast.peer(entry.peer)
        server = rig.address(row.net)
        path = fresh_path(row)
        # Connects, and creates the parents.
        peer.ask(f"solo server={server} path={path} recipe={recipe} ops=20 {entry.options}")
        with Meter(rig, peer, row.net == DELAYED) as meter:
            ms = SLICE_MS if row.slices > 1 else rig.window_ms
            answer = peer.ask(f"solo server={server} path={path} recipe={recipe} ms={ms} {entry.options}")
            ops = int(answer["ops"])
            metrics = meter.metrics(ops)
        rig.shapes(row, entry, quantiles(answer))
        return metrics | {"rate": ops / int(answer["ns"]) * 1e9}

    return measure


def count_kinds(counts, ops):
    return {"requests": counts["all"] / ops, "writes": sum(counts[kind] for kind in WRITES) / ops,
            "to_server": counts["to_server"] / ops, "to_client": counts["to_client"] / ops}


def measure_trips(request):
    """The time of an operation in units of a long delay, which a busy machine hardly changes. Its requests are counted
    without a delay, over more operations, so that a heartbeat in between does not count."""
    def measure(rig, row, entry):
        peer, lab = rig.cast.peer(entry.peer), rig.lab
        is_try = request.startswith("try")

        def run(ops):
            words = f"{request} server={lab.proxy} observe={lab.server} path={path} {entry.options} ops={ops}"
            if not is_try:
                return peer.ask(words), None
            peer.ask(words, "ready")
            lab.ask("reset")
            answer = peer.ask("go", "ready")
            counted = lab.counts()
            peer.ask("go")
            return answer, counted

        path = fresh_path(row)
        lab.ask("delay 0")
        run(10)
        lab.settle()
        lab.ask("reset")
        counts = run(COUNTED_OPS)[1]
        lab.settle()
        counts = counts or lab.counts()
        lab.ask(f"delay {TRIP_MS}")
        answer, _ = run(TRIP_OPS)
        lab.ask("delay 0")
        return count_kinds(counts, COUNTED_OPS) | {"trips": quantiles(answer)[50] / 1000 / TRIP_MS}

    return measure


def measure_crowd(rig, row, entry):
    peer = rig.cast.peer(entry.peer)
    request = f"crowd {entry.options} server={rig.address(row.net)} n={row.n}"
    if (row.name, entry.label) not in rig.seen:
        rig.seen.add((row.name, entry.label))
        # Once unmeasured: it opens the sessions.
        peer.ask(f"{request} path={fresh_path(row)} ms=100", "ready")
        peer.ask("go")
    peer.ask(f"{request} path={fresh_path(row)} ms={rig.window_ms}", "ready")
    with Meter(rig, peer, row.net == DELAYED) as meter:
        answer = peer.ask("go")
        metrics = meter.metrics(int(answer["total"]))
    rig.shapes(row, entry, quantiles(answer))
    return metrics | {"rate": max(1, int(answer["ops"])) / int(answer["ns"]) * 1e9}


def measure_scale(words):
    """Many sessions of one process; the path is used before the window, so that the parents exist."""
    def measure(rig, row, entry):
        rig.cast.dismiss(entry.peer, "scale")
        peer = rig.cast.peer(entry.peer, "scale")
        request = f"crowd server={rig.lab.server} path={fresh_path(row)} n={row.n} {words} {entry.options}"
        peer.ask(f"{request} ms=1000", "ready")
        peer.ask("go")
        peer.ask(f"{request} ms={4 * rig.window_ms}", "ready")
        before = rig.lab.monitor()
        with Meter(rig, peer, False) as meter:
            answer = peer.ask("go")
            total = int(answer["total"])
            metrics = meter.metrics(total)
        after = rig.lab.monitor()
        for metric, key in (("to_server", "zk_bytes_received_count"), ("to_client", "zk_response_bytes"),
                            ("requests", "zk_packets_received")):
            metrics[metric] = (after[key] - before[key]) / total
        metrics |= peer.size()
        rig.cast.dismiss(entry.peer, "scale")
        return metrics | {"rate": max(1, int(answer["ops"])) / int(answer["ns"]) * 1e9}

    return measure


def measure_waiters(rig, row, entry):
    # A process that has had as many waiters before needs no new memory for these, so each measurement gets a new process.
    # Only Java, which has to be warm, is restarted just once a row.
    fresh = entry.peer != "java" or (row.name, entry.label) not in rig.seen
    rig.seen.add((row.name, entry.label))
    if fresh:
        rig.cast.dismiss(entry.peer, "waiters")
    peer = rig.cast.peer(entry.peer, "waiters")
    server = rig.lab.server
    peer.ask(f"waiters server={server} observe={server} path={fresh_path(row)} n={row.n} {entry.options}", "ready")
    rig.lab.settle()
    before = rig.lab.monitor()
    with Meter(rig, peer, False) as meter:
        answer = peer.ask("go")
        metrics = meter.metrics(row.n)
    after = rig.lab.monitor()
    for metric, key in (("to_server", "zk_bytes_received_count"), ("to_client", "zk_response_bytes"),
                        ("requests", "zk_packets_received")):
        metrics[metric] = (after[key] - before[key]) / row.n
    if fresh:
        metrics |= {key: float(answer[key]) for key in ("resident", "bytes") if key in answer}
    if entry is not BARE:
        # Of a peer that does not tell, the last waiter's turn is the end of the measurement.
        metrics["turns"] = int(answer.get("granted_ns", answer["ns"])) / 1e9
    return metrics | {"seconds": int(answer["ns"]) / 1e9}


READERS, WRITERS = 64, 8


def measure_readers(rig, row, entry):
    peer = rig.cast.peer(entry.peer)
    rig.lab.ask("delay 0")
    # Once uncounted: it opens the connections and loads the classes.
    for _ in range(2):
        rig.lab.ask("reset")
        peer.ask(f"line server={rig.lab.proxy} observe={rig.lab.server} path={fresh_path(row)} "
                 f"first=write:{WRITERS} then=read:{READERS}", "ready")
        rig.lab.settle()
        answer = peer.ask("go")
        rig.lab.settle()
        counts = rig.lab.counts()
    return {"requests": counts["all"], "to_client": counts["to_client"], "to_server": counts["to_server"],
            "seconds": int(answer["ns"]) / 1e9}


MIXED = Entry("Java among C", "java")
ALONE = Entry("Java among Java", "java")
MIXED_N = 4


def measure_mixed(rig, row, entry):
    """Java's acquisitions per second for each of its contenders, when the other half are Java's or ours."""
    java, path = rig.cast.peer("java"), fresh_path(row)
    n = MIXED_N if entry is MIXED else 2 * MIXED_N
    request = f"crowd server={rig.lab.server} path={path} ms={rig.window_ms * 2}"
    players = [java]
    java.ask(f"{request} n={n}", "ready")
    if entry is MIXED:
        players.append(rig.cast.peer("c"))
        players[1].ask(f"{request} n={MIXED_N}", "ready")
    for player in players:
        player.send("go")
    answers = [player.line().split() for player in players]
    ops, ns = (int(word.split("=")[1]) for word in answers[0][1:3])
    return {"rate": ops / ns * 1e9 / n}


def measure_paths(rig, row, entry):
    peer = rig.cast.peer(entry.peer)
    with Meter(rig, peer, False) as meter:
        answer = peer.ask(f"paths server={rig.lab.server} path={fresh_path(row)} n={row.n} ms={rig.window_ms}")
        metrics = meter.metrics(int(answer["ops"]))
    return metrics | {"rate": int(answer["ops"]) / int(answer["ns"]) * 1e9}


HEARTBEAT_MS = 4000  # the shortest session that the server grants
OURS_SHORT = Entry("C, most frequent heartbeats", "c", f"session_ms={HEARTBEAT_MS}")


def measure_heartbeat(rig, row, entry):
    """Transactions per sixth of the session timeout while a lock is held and nothing else is done."""
    peer = rig.cast.peer(entry.peer)
    sixths = 9
    rig.lab.ask("delay 0")
    timeout_ms = int(peer.ask(f"hold server={rig.lab.proxy} path={fresh_path(row)} ms={HEARTBEAT_MS * sixths // 6} "
                              f"session_ms={HEARTBEAT_MS}", "ready")["timeout_ms"])
    assert timeout_ms == HEARTBEAT_MS, timeout_ms
    rig.lab.ask("reset")
    peer.ask("go")
    return {"requests": rig.lab.counts()["multi"] / sixths}


FLEET_MS = 8000  # the session timeout
FLEET_TIMEOUTS = 1


def measure_fleet(words):
    """Requests of one session in the time of a session timeout."""
    def measure(rig, row, entry):
        rig.cast.stop()  # others would be counted, too
        peer, lab = rig.cast.peer(entry.peer, "fleet"), rig.lab
        lab.ask("delay 0")
        timeout_ms = int(peer.ask(f"fleet {words} server={lab.proxy} observe={lab.server} path={fresh_path(row)} n={row.n} "
                                  f"ms={FLEET_MS * FLEET_TIMEOUTS} session_ms={FLEET_MS}", "ready")["timeout_ms"])
        assert timeout_ms == FLEET_MS, timeout_ms
        time.sleep(FLEET_MS / 1000)
        lab.ask("reset")
        peer.ask("go", "ready")
        counts = lab.counts()
        peer.ask("go")
        each = row.n * FLEET_TIMEOUTS
        kinds = count_kinds(counts, each)
        return kinds | {"reads": kinds["requests"] - kinds["writes"], "pings": counts["ping"] / each}

    return measure


QUICK_SESSIONS, QUICK_QUEUE = 20, 5
QUICK_MS = 4000  # the session timeout


def measure_ensemble(queue):
    """What the sessions cost three servers. A quick run has few sessions."""
    def measure(rig, row, entry):
        rig.cast.stop()  # others would take processor time and threads
        n, length, session_ms = row.n, queue, ensemble.SESSION_MS
        if rig.quick:
            n, length, session_ms = QUICK_SESSIONS, QUICK_QUEUE if 1 < queue < n else min(queue, QUICK_SESSIONS), QUICK_MS
        return ensemble.measure(rig.lab_program, rig.cast.programs[entry.peer], fresh_path(row), n, length, session_ms,
                                0 if rig.quick else ensemble.WARM_UP_MS)

    return measure


def measure_reentrant(rig, row, entry):
    answer = rig.cast.peer(entry.peer).ask(f"reentrant server={rig.lab.server} path={fresh_path(row)} ops=2000000")
    return {"ns": int(answer["ns"]) / int(answer["ops"])}


def measure_idle(rig, row, entry):
    answer = rig.cast.peer(entry.peer).ask(f"idle server={rig.lab.server} path={fresh_path(row)} n=20000")
    return {"bytes": float(answer["bytes"])}


SECURED = {(peer, kind): Entry(f"{who}, {kind}", peer, kind)
           for kind in (CLEAR, SASL, TLS) for who, peer in (("C", "c"), ("Java", "java"))}


def measure_secured(rig, row, entry):
    """One session acquires and releases a mutex, over one kind of connection. The server counts the requests."""
    lab, kind = rig.secured(), entry.options
    peer = lab.peer(entry.peer, kind)
    request = f"solo {lab.where(entry.peer, kind)} path={fresh_path(row)} recipe=mutex"
    peer.ask(f"{request} ops=20")
    before, cpu, server_cpu = lab.monitor(), peer.cpu_ns(), lab.server_cpu_ns()
    answer = peer.ask(f"{request} ms={rig.window_ms}")
    ops = int(answer["ops"])
    metrics = {"cpu_us": (peer.cpu_ns() - cpu) / ops / 1000, "server_cpu_us": (lab.server_cpu_ns() - server_cpu) / ops / 1000,
               "requests": (lab.monitor()["zk_packets_received"] - before["zk_packets_received"]) / ops}
    took = quantiles(answer)
    return metrics | {"rate": ops / int(answer["ns"]) * 1e9, "p50_us": took[50], "p99_us": took[99]}


def _scale_rows():
    def row(name, title, n, words):
        return Row(f"scale-{name}-{n}", title, [OURS, JAVA], measure_scale(words), named=True, n=n, part="scale")

    for n in (1, 8, 64, 256, 1024):
        yield row("one", "mutex, one path", n, "recipe=mutex")
    for n in (8, 64, 256, 1024):
        yield row("each", "mutex, a path for each session", n, "recipe=mutex apart=1")
    for n in (64, 256):
        yield row("semaphore", "semaphore of 8, held for 1 ms", n, "recipe=semaphore8 hold_ms=1")
        yield row("rw", "read-write lock, one in ten writes, held for 1 ms", n, "recipe=rw hold_ms=1")


NEAR_FLOOR = 0.91  # a tenth more time than libzookeeper alone
MUTEX_NEAR, MUTEX_CPU_NEAR = 0.97, 0.93
MUTEX_SLICES, SLICES = 30, 10
CROWD_SLICES = 3  # each a whole window


def _solo_rows(net):
    suffix = "" if net == LOOPBACK else "-1ms"
    recipes = (("mutex", "mutex"), ("read", "read lock"), ("write", "write lock"), ("semaphore", "semaphore"),
               ("semmutex", "semaphore mutex"))
    for recipe, title in recipes:
        bare, bare_async = (BARE_SEMAPHORE, BARE_SEMAPHORE_ASYNC) if recipe.startswith("sem") else (BARE, BARE_ASYNC)
        entries = [OURS, JAVA, OURS_ASYNC, bare, bare_async]
        near = MUTEX_NEAR if (recipe, net) == ("mutex", LOOPBACK) else NEAR_FLOOR
        targets = [Target(OURS, "rate", near, against=bare), Target(OURS_ASYNC, "rate", NEAR_FLOOR, against=bare_async)]
        if recipe == "mutex":
            entries += [KAZOO, GO, SOCKET, SOCKET_ASYNC]
            if net == LOOPBACK:
                targets += [Target(OURS, "cpu_us", MUTEX_CPU_NEAR, against=bare),
                            Target(OURS_ASYNC, "cpu_us", MUTEX_CPU_NEAR, against=bare_async)]
        slices = 1 if net != LOOPBACK else MUTEX_SLICES if recipe == "mutex" else SLICES
        yield Row(f"solo-{recipe}{suffix}", f"uncontended {title}", entries, measure_solo(recipe), targets, net=net, slices=slices,
                  part="mutex" if recipe == "mutex" else "recipes")


def _trip_rows():
    def row(name, title, entries, request, targets=()):
        return Row(f"trips-{name}", title, entries, measure_trips(request), list(targets), show="trips", unit="", net="40 ms",
                   part="trips")

    yield row("mutex", "mutex", [OURS, OURS_ASYNC, JAVA, KAZOO, GO, BARE, BARE_ASYNC], "solo recipe=mutex",
              [Target(OURS, "trips", limit=2.25), Target(OURS_ASYNC, "trips", limit=1.25)])
    yield row("read", "read lock", [OURS, OURS_ASYNC, JAVA], "solo recipe=read")
    yield row("write", "write lock", [OURS, OURS_ASYNC, JAVA], "solo recipe=write")
    yield row("semaphore", "semaphore", [OURS, OURS_ASYNC, JAVA], "solo recipe=semaphore")
    yield row("semmutex", "semaphore mutex", [OURS, OURS_ASYNC, JAVA], "solo recipe=semmutex")
    yield row("multi", "multi-lock of eight mutexes", [OURS, OURS_ASYNC, JAVA], "solo recipe=multi",
              [Target(OURS, "trips", limit=2.25), Target(OURS_ASYNC, "trips", limit=1.25)])
    yield row("try", "a try, refused because another session holds the mutex", [OURS, JAVA], "try",
              [Target(OURS, "trips", limit=1.25)])
    yield row("try-own", "a try, refused because the same session holds it", [OURS, JAVA], "try own=1",
              [Target(OURS, "requests", limit=0)])


def _fleet_rows():
    def row(name, title, n, words):
        return Row(f"fleet-{name}", title, [OURS], measure_fleet(words), show="writes", unit="", named=True, n=n, part="fleet")

    yield row("idle", "neither holds nor waits", 10, "role=idle")
    yield row("hold", "holds one lock", 10, "role=hold locks=1")
    yield row("hold-many", "holds a hundred locks", 1, "role=hold locks=100")
    yield row("wait-near", "waits right behind the holder", 1, "role=wait")
    yield row("wait-far", "waits in a queue of fifty, mean of all", 50, "role=wait")


def _ensemble_rows():
    for n in (1000, 5000):
        for name, title, queue in (("idle", "neither holds nor waits", 0), ("hold", "holds one mutex", 1),
                                   ("wait", "queues, 50 on a path, the first of which holds", 50),
                                   ("election", "queues, all on one path, the first of which holds", n)):
            if name != "election" or n <= ensemble.OF_A_PROCESS:
                yield Row(f"ensemble-{name}-{n}", title, [OURS], measure_ensemble(queue), show="transactions",
                          slow=n > ensemble.OF_A_PROCESS, named=True, n=n, part="ensemble")


def _crowd_rows(net):
    for n in (2, 8, 64):
        entries = [OURS, JAVA, GO, BARE, OURS_ASYNC, BARE_ASYNC] + ([KAZOO] if net == LOOPBACK else [])
        targets = [Target(OURS, "rate", 1.0, against=GO), Target(OURS, "rate", NEAR_FLOOR, against=BARE),
                   Target(OURS_ASYNC, "rate", NEAR_FLOOR, against=BARE_ASYNC)]
        if n == 64 and net == LOOPBACK:
            targets += [Target(OURS, "cpu_us", NEAR_FLOOR, against=BARE), Target(OURS_ASYNC, "cpu_us", NEAR_FLOOR, against=BARE_ASYNC)]
        yield Row(f"handoff-{n}{'' if net == LOOPBACK else '-1ms'}", f"hand-off, {n} sessions", entries, measure_crowd, targets,
                  n=n, net=net, slices=CROWD_SLICES if net == LOOPBACK else 1, part="handoff")


def _waiter_rows():
    for n, factor in ((125, None), (1000, 25.0), (5000, 80.0)):
        targets = [Target(OURS, "turns", factor), Target(OURS, "seconds", NEAR_FLOOR, against=BARE),
                   Target(OURS, "bytes", limit=1024)] if factor else []
        yield Row(f"waiters-{n}", f"{n:,} waiters in one process: drain", [OURS, JAVA, GO, BARE] + ([KAZOO] if n <= 1000 else []),
                  measure_waiters, targets, n=n, show="seconds", unit="s", slow=n != 1000, part="waiters")


def all_rows():
    yield from _trip_rows()
    yield from _solo_rows(LOOPBACK)
    yield from _crowd_rows(LOOPBACK)
    yield Row("readers", f"{READERS} readers behind {WRITERS} writers: requests until all have had the lock", [OURS, JAVA],
              measure_readers, [Target(OURS, "requests", 3.0)], show="requests", unit="")
    yield from _waiter_rows()
    yield Row("mixed", f"Java's rate per contender, {MIXED_N} Java with {MIXED_N} C on one path, against {2 * MIXED_N} Java",
              [MIXED, ALONE], measure_mixed, [Target(MIXED, "rate", 1.0, against=ALONE)])
    for n in (1, 8, 64, 256):
        yield Row(f"paths-{n}", f"{n} path{'s' * (n > 1)}, one session", [OURS, JAVA], measure_paths, n=n)
    yield Row("heartbeat", "heartbeats per sixth of the session timeout, otherwise idle", [OURS], measure_heartbeat,
              [Target(OURS, "requests", limit=1.0)], show="requests", unit="")
    yield Row("heartbeat-loss", "uncontended mutex, a heartbeat every 0.67 s against one every 5 s", [OURS_SHORT, OURS],
              measure_solo("mutex"), [Target(OURS_SHORT, "rate", no_loss=True, against=OURS)])
    yield Row("reentrant", "re-entrant acquire and release", [OURS, JAVA], measure_reentrant,
              [Target(OURS, "ns", limit=6.0)], show="ns", unit="ns")
    yield Row("idle", "memory of an idle lock", [OURS, JAVA], measure_idle, [Target(OURS, "bytes", limit=300.0)],
              show="bytes", unit="bytes")
    yield Row("secured", "uncontended mutex, over TLS and SASL", list(SECURED.values()), measure_secured,
              part="secured")
    yield from _solo_rows(DELAYED)
    yield from _crowd_rows(DELAYED)
    yield from _fleet_rows()
    yield from _scale_rows()
    yield from _ensemble_rows()
