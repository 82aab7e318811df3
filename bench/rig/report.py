# SPDX-License-Identifier: Apache-2.0
"""Tables for the terminal and for the documentation, from the same cells."""
import os
import re
import subprocess
from datetime import date
from pathlib import Path

from rows import BARE, GO, JAVA, KAZOO, LOOPBACK, MACHINE, OURS, SECURED, SOCKETS

BUSY_LOAD = 0.5  # load average before a run
METRICS = {"rate": ("rate", "/s", 1), "trips": ("round trips", "", 1), "seconds": ("time", "s", 1), "turns": ("until the last waiter has had the lock", "s", 1),
           "requests": ("requests", "", 1), "cpu_us": ("client CPU", "µs", 1), "bytes": ("memory allocated", "bytes", 1),
           "ns": ("time", "ns", 1), "to_client": ("bytes from the server", "bytes", 1),
           "to_server": ("bytes to the server", "bytes", 1), "resident": ("resident memory", "bytes", 1)}


def number(value):
    """Three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def spread_text(spread, unit=""):
    if spread is None:
        return "-"
    text = number(spread.median)
    if number(spread.low) != number(spread.high):
        text += f" ({number(spread.low)}–{number(spread.high)})"
    return text + (f" {unit}" if unit and not unit.startswith("/") else unit)


RUN_HEADINGS = ("rounds", "load")


def run(row, results, spread):
    """The cells under RUN_HEADINGS: how often that figure was measured, and how busy the machine was then."""
    rounds = len(spread.values)
    return (f"{rounds}" if rounds > 1 else "1: not a result", spread_text(results.spread(row, MACHINE, "load")))


def target_rows(rows, results):
    """A line for each target, as TARGET_HEADINGS."""
    for row in rows:
        for target in row.targets:
            verdict = results.verdict(row, target)
            if verdict is None:
                continue
            name, unit, _ = METRICS[target.metric]
            who = target.entry.label.removeprefix("C, ").removeprefix("C")
            what = row.title if target.metric == row.show else f"{row.title.split(':')[0]}: {name}"
            workload = f"{what}{', ' + who if who and who != target.entry.label else ''}"
            if row.net != "loopback":
                workload += f", {row.net}"
            if target.limit is not None:
                against, ratio, goal = "", "", f"≤ {number(target.limit)} {unit}".strip()
            else:
                label = target.against.label.split(",")[0]
                against = f"{label}: {spread_text(results.spread(row, target.against, target.metric), unit)}"
                ratio, goal = spread_text(verdict.spread), "reaches 1" if target.no_loss else f"≥ {target.factor:g}"
            others = [results.ratios(row, target.entry, other, target.metric)
                      for other in (SOCKETS.get(target.entry, JAVA), JAVA, GO, KAZOO)]
            others[0] = others[0] if target.entry in SOCKETS else None
            yield (workload, spread_text(results.spread(row, target.entry, target.metric), unit), against, ratio, goal,
                   "-" if len(verdict.spread.values) == 1 else "yes" if verdict.met else "**no**",
                   *(spread_text(other) if other else "" for other in others),
                   *run(row, results, verdict.spread))


TARGET_HEADINGS = ("workload", "this library", "compared with", "ratio", "target", "met", "ratio to a socket alone", "to Java",
                   "to go", "to kazoo", *RUN_HEADINGS)


def trip_rows(rows, results):
    """A line for each competitor of each operation, counted rather than timed."""
    for row in rows:
        for entry in row.entries:
            figures = [results.spread(row, entry, metric)
                       for metric in ("trips", "requests", "writes", "to_server", "to_client")]
            if figures[0] is not None:
                yield (row.title, entry.label, *(spread_text(figure) for figure in figures), *run(row, results, figures[0]))


TRIP_HEADINGS = ("operation", "who", "round trips", "requests", "writes", "bytes to the server", "bytes from it", *RUN_HEADINGS)


def fleet_rows(rows, results):
    for row in rows:
        spreads = [results.spread(row, row.entries[0], metric) for metric in ("writes", "reads", "pings")]
        if spreads[0] is not None:
            writes = spreads[0].median
            carried = [f"{CARRIED * seconds / writes:,.0f}" if writes > 0.005 else "-" for seconds in FLEET_TIMEOUTS_S]
            yield (row.title, *(spread_text(spread) for spread in spreads), *carried, *run(row, results, spreads[0]))


def ensemble_rows(rows, results):
    for row in rows:
        def text(metric, unit="", row=row):
            return spread_text(results.spread(row, row.entries[0], metric), unit)

        if results.spread(row, row.entries[0], row.show) is not None:
            yield (row.title, text("sessions"), text("transactions"), text("expected"), text("requests"), text("leader_cpu", "%"),
                   text("follower_cpu", "%"), text("leader_mb", "MB"), text("each_cpu", "µs"), text("client_kb", "KB"),
                   *run(row, results, results.spread(row, row.entries[0], row.show)))


ENSEMBLE_HEADINGS = ("each session", "sessions", "transactions a second", "expected", "requests a second", "CPU of the leader",
                     "of a follower", "memory of the leader", "client CPU a second, for each session",
                     "client memory for each session", *RUN_HEADINGS)


def scale_rows(rows, results):
    for row in rows:
        for entry in row.entries:
            rate = results.spread(row, entry, "rate")
            if rate is None:
                continue
            ratio = results.ratios(row, entry, JAVA, "rate")
            yield (row.title, f"{row.n:,}", entry.label, spread_text(rate, row.unit),
                   spread_text(ratio) if ratio and entry is not JAVA else "",
                   *(spread_text(results.spread(row, entry, m))
                     for m in ("requests", "to_client", "server_cpu_us", "resident_mb", "threads")), *run(row, results, rate))


SCALE_HEADINGS = ("workload", "sessions", "who", "acquisitions", "ratio to Java", "requests", "bytes from the server",
                  "server CPU µs", "resident MB of the process", "its threads", *RUN_HEADINGS)
CARRIED = 1000  # transactions a second
FLEET_TIMEOUTS_S = (15, 30, 60)
FLEET_HEADINGS = ("a client that", "transactions per T", "reads per T", "pings per T",
                  *(f"clients per {CARRIED:,} transactions a second, T = {seconds} s" for seconds in FLEET_TIMEOUTS_S),
                  *RUN_HEADINGS)


def peer_rows(rows, results):
    """A line for each competitor of each row, with its ratio to Java."""
    for row in rows:
        if JAVA not in row.entries or results.spread(row, JAVA, row.show) is None:
            continue
        for entry in row.entries:
            spread = results.spread(row, entry, row.show)
            if spread is None:
                continue
            ratio = results.ratios(row, entry, JAVA, row.show)
            net = "" if row.net == "loopback" else f", {row.net}"
            yield (f"{row.title}{net}", entry.label, spread_text(spread, row.unit),
                   spread_text(ratio) if entry is not JAVA else "1",
                   *(spread_text(results.spread(row, entry, m)) for m in ("cpu_us", "requests", "to_client")),
                   *run(row, results, spread))


PEER_HEADINGS = ("workload", "who", "figure", "ratio to Java", "client CPU µs", "requests", "bytes from the server", *RUN_HEADINGS)


def memory_rows(rows, results):
    for row in rows:
        for entry in row.entries:
            spread = results.spread(row, entry, "resident")
            if spread is not None:
                yield (f"{row.n:,}", entry.label, spread_text(spread), spread_text(results.spread(row, entry, "bytes")),
                       *run(row, results, spread))


MEMORY_HEADINGS = ("waiters", "who", "resident bytes per waiter", "allocated bytes of these (C only)", *RUN_HEADINGS)


def markdown(headings, lines):
    yield "| " + " | ".join(headings) + " |"
    yield "|" + "---|" * len(headings)
    for line in lines:
        yield "| " + " | ".join(line) + " |"


def plain(headings, lines):
    table = [headings, *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(headings))]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip().replace("**", "")


def _output(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _version(package):
    return _output("dpkg-query", "-W", "-f", "${Version}", package) or "unknown"


def machine(load):
    """The machine and the versions, in sentences for the document. load: its load average before the run."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(encoding="ascii")).group(1))
    java = _output("java", "--version").splitlines()
    yield (f"{os.cpu_count()} cores, {cpu.group(1) if cpu else os.uname().machine}, {memory / 1048576:.0f} GiB, "
           f"Linux {os.uname().release.split('-')[0]}; load average before the run {load:.1f}.")
    yield (f"Debian's ZooKeeper {_version('libzookeeper-java')}, Curator {_version('libcurator-recipes-java')} on "
           f"{java[0] if java else 'Java'}, kazoo {_version('python3-kazoo')}, "
           f"go-zookeeper {_version('golang-github-samuel-go-zookeeper-dev')}.")


SECURED_HEADINGS = ("connection", "who", "acquisitions", "ratio to Java", "p50 µs", "p99 µs", "requests", "client CPU µs",
                    "ratio to Java", "server CPU µs", "rate against clear text", *RUN_HEADINGS)


def secured_rows(rows, results):
    """A line for each competitor over each kind of connection."""
    for row in rows:
        for (peer, kind), entry in SECURED.items():
            rate = results.spread(row, entry, "rate")
            if rate is None:
                continue
            java, clear = SECURED["java", kind], SECURED[peer, "clear text"]
            ratios = [spread_text(results.ratios(row, entry, java, m)) if peer != "java" else "1" for m in ("rate", "cpu_us")]
            figures = [spread_text(results.spread(row, entry, m))
                       for m in ("p50_us", "p99_us", "requests", "cpu_us", "server_cpu_us")]
            yield (kind, entry.label.split(",")[0], spread_text(rate, "/s"), ratios[0], *figures[:4], ratios[1], figures[4],
                   spread_text(results.ratios(row, entry, clear, "rate")) if entry is not clear else "1",
                   *run(row, results, rate))


def like_rows(rows, results):
    """What waits for the server's confirmation, against each competitor that does, too."""
    for row in rows:
        for metric in ("rate", "cpu_us"):
            ratios = [results.ratios(row, OURS, other, metric) for other in (JAVA, GO, KAZOO, BARE)]
            if ratios[0] and any((target.entry, target.metric) == (OURS, metric) for target in row.targets):
                yield (f"{row.title}{'' if row.net == LOOPBACK else f', {row.net}'}{': processor time' if metric == 'cpu_us' else ''}",
                       *(spread_text(ratio) for ratio in ratios), *run(row, results, ratios[0]))


LIKE_HEADINGS = ("workload", "ratio to Java", "to go", "to kazoo", "to libzookeeper alone", *RUN_HEADINGS)

# The rows of a part are told in one document or two, between marks; each time by these tables.
PAGE, OPERATIONS, SUMMARY = "reports/performance-tables.md", "operations.md", "performance.md"
COMPARED = (PAGE, (TARGET_HEADINGS, target_rows), (PEER_HEADINGS, peer_rows), (MEMORY_HEADINGS, memory_rows))
LIKE = (SUMMARY, (LIKE_HEADINGS, like_rows))
PARTS = {"trips": [(PAGE, (TRIP_HEADINGS, trip_rows), (TARGET_HEADINGS, target_rows))],
         "mutex": [COMPARED, LIKE], "recipes": [COMPARED], "handoff": [COMPARED, LIKE], "waiters": [COMPARED], "single": [COMPARED],
         "scale": [(PAGE, (SCALE_HEADINGS, scale_rows))], "secured": [(PAGE, (SECURED_HEADINGS, secured_rows))],
         "fleet": [(OPERATIONS, (FLEET_HEADINGS, fleet_rows))], "ensemble": [(OPERATIONS, (ENSEMBLE_HEADINGS, ensemble_rows))]}


def document(file, tables, rows, results, command, load, plots):
    """What stands between the marks of a part, from its rows. load: before the run."""
    yield f"Measured by `{command}` on {date.today().isoformat()}:"
    yield from machine(load) if file != SUMMARY else ()
    if load > BUSY_LOAD:
        yield "The machine was busy with other work: times and rates say something only as ratios, and only roughly."
    if results.failures:
        yield f"Failed measurements: {'; '.join(results.failures)}."
    for headings, cells in tables:
        lines = list(cells(rows, results))
        if lines:
            yield ""
            yield from markdown(headings, lines)
    for file, caption in plots:
        yield ""
        yield f"![{caption}](plots/{file})"


def replace_measured(path, lines, part):
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(begin, 1)
    tail = rest.split(end, 1)[1]
    path.write_text(head + begin + "\n" + "\n".join(lines) + "\n" + end + tail, encoding="utf-8")
