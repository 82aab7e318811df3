# SPDX-License-Identifier: Apache-2.0
"""The plots, by gnuplot, as SVG."""
import subprocess

from rows import GO, JAVA, KAZOO, LOOPBACK, OURS, OURS_ASYNC

COLOURS = {OURS.label: "#0b6e4f", OURS_ASYNC.label: "#21b573", JAVA.label: "#c0392b", KAZOO.label: "#8e44ad",
           GO.label: "#2874a6"}
ORDER = (OURS_ASYNC, OURS, JAVA, GO, KAZOO)

HEAD = """set terminal svg size 760,430 font "sans-serif,13" background rgb "white"
set output "{file}"
set key {key} samplen 2
set grid lc rgb "#dddddd"
set border lc rgb "#555555"
set xlabel "{x}"
set ylabel "{y}"
"""


def _run(script):
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def _plot(path, x, y, series, setup="", key="top left"):
    """series: label to a list of points (x, y, low, high)"""
    script = HEAD.format(file=path, key=key, x=x, y=y) + setup
    parts = []
    for i, (label, points) in enumerate(series.items()):
        rows = "\n".join(" ".join(f"{v:.6g}" for v in point) for point in points)
        script += f"$data{i} << EOD\n{rows}\nEOD\n"
        colour = f'lc rgb "{COLOURS[label]}"'
        if len(points[0]) == 4:
            parts.append(f'$data{i} using 1:2:3:4 with yerrorlines {colour} lw 2 pt 7 ps 0.5 title "{label}"')
        else:
            parts.append(f'$data{i} using 1:2 with lines {colour} lw 2 title "{label}"')
    _run(script + "plot " + ", ".join(parts) + "\n")


def _against_n(rows, results, prefix, metric):
    """label to points, one for each measured row of that family"""
    series = {}
    for entry in ORDER:
        for row in rows:
            if row.name.startswith(prefix) and row.net == LOOPBACK and entry in row.entries:
                spread = results.spread(row, entry, metric)
                if spread is not None and spread.median > 0:
                    series.setdefault(entry.label, []).append((row.n, spread.median, spread.low, spread.high))
    return {label: points for label, points in series.items() if len(points) > 1}


def draw(rows, results, directory):
    """Draws each plot that has figures of these rows; returns (file, caption) of each."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []

    def plot(file, caption, x, y, series, **more):
        if series:
            _plot(directory / file, x, y, series, **more)
            drawn.append((file, caption))

    plot("handoffs.svg", "Hand-offs per second, by number of contenders", "contenders, each in a session of its own",
         "hand-offs per second", _against_n(rows, results, "handoff-", "rate"), setup="set logscale x 2\nset yrange [0:*]\n",
         key="top right")
    log = "set logscale xy\nset format y '%g'\n"
    for prefix, file, metric, caption, x, y in (
            ("waiters-", "drain.svg", "seconds", "Time to drain a queue, by its length", "waiters in one process",
             "seconds until all have had the lock"),
            ("waiters-", "bytes.svg", "to_client", "Bytes from the server per hand-off, by length of the queue",
             "waiters in one process", "bytes per hand-off"),
            ("scale-one-", "sessions-bytes.svg", "to_client", "Bytes from the server per acquisition, by number of sessions",
             "sessions of one process on one path", "bytes per acquisition"),
            ("scale-one-", "sessions-cpu.svg", "server_cpu_us", "Processor time of the server per acquisition, by number of sessions",
             "sessions of one process on one path", "microseconds per acquisition")):
        plot(file, caption, x, y, _against_n(rows, results, prefix, metric), setup=log)
    shapes = {}
    for row in rows:
        for entry in ORDER if row.name == "solo-mutex" else ():
            rounds = results.shapes.get((row.name, entry.label))
            if rounds:
                shapes[entry.label] = [(sorted(values)[len(values) // 2], q) for q, values in enumerate(zip(*rounds))][:100]
    plot("latency.svg", "How long an uncontended acquire and release takes", "microseconds for acquire and release",
         "per cent that took at most this long", shapes, setup="set logscale x\nset yrange [0:100]\n", key="bottom right")
    return drawn
