# SPDX-License-Identifier: Apache-2.0
"""The rig: runs the rows in interleaved rounds and reports the figures. scripts/bench builds everything and calls it."""
import argparse
import os
import random
import sys
from pathlib import Path

import plots
import report
from lab import Cast, Failure, Lab
from results import Results
from rows import DELAYED, MACHINE, all_rows
from secured import SecuredLab

WARM_UP_OPS = 10000


class Rig:
    """What a measurement needs: the peers, the lab and the results."""

    def __init__(self, programs, lab_program, results, quick, window_ms, warm_up_ops):
        self.results = results
        self.quick = quick
        self.window_ms = window_ms
        self.warm_up_ops = warm_up_ops
        self.lab_program = lab_program
        self.lab = Lab(lab_program)
        self.secured_lab = None
        self.cast = Cast(programs, self.lab, self._warm_up)
        self.seen = set()

    def _warm_up(self, peer, lab, role):
        """Runs each recipe often enough for Java and the server to have compiled it. The peers send different requests,
        so the server is warmed up by each of them."""
        if role == "scale":
            words = f"crowd server={lab.server} path=/bench/warm n=8 ms={self.warm_up_ops // 5}"
            peer.ask(words, "ready")
            peer.ask("go")
            return
        if peer.name != "java":
            if role == "main":
                peer.ask(f"solo server={lab.server} path=/bench/warm recipe=mutex ops={self.warm_up_ops // 5}")
            return
        say(f"warming up Java ({role})")
        peer.ask(f"solo server={lab.server} path=/bench/warm recipe=mutex ops={self.warm_up_ops}")
        if role != "main":
            return
        for recipe in ("read", "write", "semaphore", "semmutex"):
            peer.ask(f"solo server={lab.server} path=/bench/warm-{recipe} recipe={recipe} ops={self.warm_up_ops // 5}")
        peer.ask(f"crowd server={lab.server} path=/bench/warm n=8 ms={self.warm_up_ops // 10}", "ready")
        peer.ask("go")

    def address(self, net):
        if net == DELAYED:
            self.lab.ask("delay 1")
            return self.lab.proxy
        return self.lab.server

    def shapes(self, row, entry, quantiles):
        self.results.add_shape(row, entry, quantiles)

    def secured(self):
        if self.secured_lab is None:
            self.secured_lab = SecuredLab(self.lab_program, self.cast.programs, self.warm_up_ops)
        return self.secured_lab

    def server_cpu_ns(self):
        return self.lab.server_cpu_ns()

    def stop(self):
        if self.secured_lab is not None:
            self.secured_lab.stop()
        self.cast.stop()
        self.lab.stop()


def say(text):
    print(f"    {text}", file=sys.stderr, flush=True)


def attempt(rig, row, entry, number, results):
    """The metrics. A peer that fails has none in this round; failures are listed at the end."""
    try:
        return row.measure(rig, row, entry)
    except (Failure, OSError) as failure:
        say(f"FAILED {row.name}, {entry.label}: {failure}")
        results.failures.append(f"{row.name}, {entry.label}, round {number + 1}: {failure}")
        rig.cast.dismiss_all(entry.peer)
        if rig.secured_lab is not None:
            rig.secured_lab.dismiss_all()
        return None


def joined(slices):
    """The metrics of one measurement from those of its slices, which are equally long."""
    total = sum(metrics["rate"] for metrics in slices)
    return {name: total / len(slices) if name == "rate" else sum(m[name] * m["rate"] for m in slices) / total
            for name in slices[0]}


def play_row(rig, row, number, results):
    """One competitor after the other, slice by slice, each time in another order. In a fixed one each competitor would
    always find the server and the caches as the same one has left them. The order is the same in each run."""
    entries = [entry for entry in row.entries if rig.cast.has(entry.peer)]
    results.add(row, MACHINE, number, {"load": os.getloadavg()[0]})
    measured = {entry: [] for entry in entries}
    slices = 2 if rig.quick and row.slices > 1 else row.slices
    for part in range(slices):
        order = random.Random(f"{row.name} {number} {part}")
        for entry in order.sample(entries, len(entries)):
            if None not in measured[entry]:
                measured[entry].append(attempt(rig, row, entry, number, results))
    figures = []
    for entry, metrics in measured.items():
        if None in metrics:
            figures.append(f"{entry.label} failed")
            continue
        whole = metrics[0] if slices == 1 else joined(metrics)
        results.add(row, entry, number, whole)
        figures.append(f"{entry.label} {report.number(whole[row.show])}")
    return figures


def play(rig, rows, rounds, results):
    """Round by round, row by row."""
    for number in range(rounds):
        for row in rows:
            figures = play_row(rig, row, number, results)
            say(f"{number + 1}/{rounds} {row.name}: {'; '.join(figures)} {row.unit}")


def parse(argv):
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--programs", required=True, help="NAME=WORD WORD..., one a line")
    parser.add_argument("--lab", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=int, default=500, help="milliseconds of one measurement")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--publish", type=Path, help="the docs folder")
    parser.add_argument("--command", default="scripts/bench")
    return parser.parse_args(argv)


def choose(options):
    def wanted(row):
        return any(only in (row.name, row.part) or row.name.startswith(only + "-") for only in options.only)

    rows = [row for row in all_rows() if (wanted(row) if options.only else not row.named)]
    if options.quick:
        rows = [row for row in rows if not row.slow]
    return rows


def write_report(rows, results, options, load):
    options.output.mkdir(parents=True, exist_ok=True)
    results.write_csv(options.output / "figures.csv")
    results.write_shapes(options.output / "latency.csv")
    for part, (file, *tables) in ((part, told) for part, documents in report.PARTS.items() for told in documents):
        chosen = [row for row in rows if row.part == part]
        for headings, cells in tables:
            lines = list(cells(chosen, results))
            if lines:
                print("\n".join(report.plain(headings, lines)) + "\n")
        if options.publish and chosen:
            drawn = plots.draw(chosen, results, options.publish / "reports" / "plots") if file == report.PAGE else []
            lines = report.document(file, tables, chosen, results, options.command, load, drawn)
            report.replace_measured(options.publish / file, list(lines), part)
    drawn = plots.draw(rows, results, options.output)
    say(f"figures.csv, latency.csv and {len(drawn)} plots are in {options.output}")


def main(argv):
    options = parse(argv)
    rows = choose(options)
    if options.list:
        print("\n".join(f"{row.name:22} {row.part:9} {row.title}" for row in all_rows()))
        return 0
    if not rows:
        print("scripts/bench: no such row; see --list", file=sys.stderr)
        return 64
    programs = dict(line.split("=", 1) for line in options.programs.splitlines() if line)
    results = Results()
    load = os.getloadavg()[0]
    if load > report.BUSY_LOAD:
        say(f"the machine is busy (load average {load:.1f}): do not trust the figures")
    rig = Rig({name: argv.split("\t") for name, argv in programs.items()}, options.lab, results,
              options.quick, 100 if options.quick else options.window, 2000 if options.quick else WARM_UP_OPS)
    try:
        play(rig, rows, 2 if options.quick else options.rounds, results)
    finally:
        rig.stop()
    write_report(rows, results, options, load)
    for failure in results.failures:
        print(f"failed: {failure}")
    return 1 if results.failures else 0


sys.exit(main(sys.argv[1:]))
