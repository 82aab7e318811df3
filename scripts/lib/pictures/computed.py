# SPDX-License-Identifier: Apache-2.0
"""The pictures that follow from the source alone.

computed.py ROOT DIRECTORY: writes timeline.svg, leader.svg, lease-states.svg and connection-states.svg into the
directory.
"""
import sys
from pathlib import Path

from source import Source
from svg import AMBER, BLUE, FAINT, GREEN, GREY, GRID, INK, RED, Drawing


def seconds(value):
    return f"{float(value):g} s"


def timeline(source, path):
    """A holder is cut off: what it knows, what the servers know, and when the next one gets the lock."""
    clock = source.lease_clock()
    drawing = Drawing(900, 400, "Timeline of a lease whose holder is cut off from the servers")
    left, right = 108, 888
    begin, end = -2.2 * clock.beat, 1.2 * clock.timeout

    def at(time):
        return left + float((time - begin) / (end - begin)) * (right - left)

    servers, holder, waiter, axis = 66, 152, 292, 356
    bar = 26

    def lane(y, name, parts):
        drawing.text(8, y + 17, name, weight="bold")
        for since, until, colour, text in parts:
            drawing.box(at(since), y, at(until) - at(since), bar, colour)
            drawing.text((at(since) + at(until)) / 2, y + 18, text, "#ffffff", "middle", 12, "bold")

    beats = [n * clock.beat for n in range(-2, 2)]
    for time, colour in ((0, INK), (clock.suspect, AMBER), (clock.lost, RED), (clock.timeout, BLUE)):
        drawing.line(at(time), 40, at(time), axis, colour, 1, "3 3")

    lane(servers, "servers", [(begin, clock.timeout, BLUE, "the session is alive"),
                              (clock.timeout, clock.timeout + clock.tick, "#85b0d3", "")])
    lane(holder, "holder", [(begin, clock.suspect, GREEN, "HELD"), (clock.suspect, clock.lost, AMBER, "SUSPECT"),
                            (clock.lost, end, RED, "LOST")])
    lane(waiter, "next in line", [(begin, clock.timeout + clock.tick, GREY, "waits"), (clock.timeout + clock.tick, end, GREEN,
                                                                                 "HELD")])
    for time in beats:
        if time <= 0:
            drawing.arrow([(at(time), holder - 2), (at(time), servers + bar + 3)], GREEN)
        else:
            middle = (holder + servers + bar) / 2
            drawing.arrow([(at(time), holder - 2), (at(time), middle + 4)], RED, dashes="4 3")
            drawing.text(at(time), middle, "✕", RED, "middle")
            drawing.text(at(time) + 10, middle + 12, "no answer", RED, size=12)
    drawing.text(8, (holder + servers + bar) / 2 + 5, "heartbeats", FAINT)
    drawing.text((at(beats[0]) + at(beats[1])) / 2, holder - 24, f"every T/{clock.beat_share}", GREEN, "middle", 12)

    drawing.lines(at(0) - 4, 22, ["last heartbeat that", "a quorum answered"], 15, anchor="end", size=12)
    drawing.text(at(0) + 5, 56, "the holder is cut off", RED, size=12)
    drawing.text(at(clock.timeout) - 5, 22, "the servers can end the session", BLUE, "end", 12)
    drawing.text(at(clock.timeout) - 5, 37, "no sooner than T, and do so", BLUE, "end", 12)
    drawing.text(at(clock.timeout) + 5, 37, "within a tick", BLUE, "start", 12)

    # The guard: the part of T that the holder does not use.
    y = holder + bar + 14
    start = clock.lost
    for (_, _, length), shade in zip(clock.guard, ("#c0392b", "#d98880", "#cd6155", "#7b241c")):
        drawing.box(at(start), y, at(start + length) - at(start), 9, shade, radius=0)
        start += length
    drawing.text(at(clock.lost) - 6, y + 9, f"the guard, {seconds(sum(part[2] for part in clock.guard))}:", RED, "end", 12)
    drawing.lines(at(clock.lost) - 6, y + 26, [f"{length} = {seconds(value)} for {name}" for name, length, value in clock.guard],
                  15, colour=FAINT, anchor="end", size=12)
    drawing.arrow([(at(clock.timeout + clock.tick / 2), servers + bar + 2), (at(clock.timeout + clock.tick / 2), waiter - 3)], BLUE)
    drawing.text(at(clock.timeout) - 5, waiter - 8, "the node goes, the next in line is granted the lock", BLUE, "end", 12)

    drawing.line(left, axis, right, axis)
    for time, name in ((0, "0"), (clock.beat, f"T/{clock.beat_share}"), (clock.suspect, "SUSPECT"), (clock.lost, "LOST"),
                       (clock.timeout, "T")):
        drawing.line(at(time), axis, at(time), axis + 6)
        drawing.text(at(time), axis + 20, name, anchor="middle", size=12)
        drawing.text(at(time), axis + 35, seconds(time), FAINT, "middle", 12)
    drawing.text(8, axis + 20, f"T = {seconds(clock.timeout)}", size=12)
    drawing.text(8, axis + 35, f"ticks of {seconds(clock.tick)}", FAINT, size=12)
    drawing.write(path)


def leader(source, path):
    """What a leader that is cut off believes by either rule, and when the next one leads."""
    clock = source.lease_clock()
    drawing = Drawing(900, 290, "A leader that is cut off stops before the next one leads")
    left, right = 120, 888
    begin, end = -clock.beat, 1.25 * clock.timeout
    next_leads = clock.timeout + clock.tick

    def at(time):
        return left + float((time - begin) / (end - begin)) * (right - left)

    lanes = (("lease", ((begin, clock.suspect, GREEN, "HELD"), (clock.suspect, clock.lost, AMBER, "SUSPECT"),
                        (clock.lost, end, RED, "LOST"))),
             ("default rule", ((begin, clock.suspect, GREEN, "leads"), (clock.suspect, end, GREY, "has to stop"))),
             ("until lost", ((begin, clock.lost, GREEN, "leads"), (clock.lost, end, GREY, "has to stop"))),
             ("next leader", ((begin, next_leads, GREY, "waits"), (next_leads, end, GREEN, "leads"))))
    axis = 236
    for time, colour in ((0, INK), (clock.suspect, AMBER), (clock.lost, RED), (clock.timeout, BLUE)):
        drawing.line(at(time), 30, at(time), axis, colour, 1, "3 3")
    for row, (name, parts) in enumerate(lanes):
        y = 44 + 48 * row
        drawing.text(8, y + 17, name, weight="bold")
        for since, until, colour, text in parts:
            drawing.box(at(since), y, at(until) - at(since), 26, colour)
            drawing.text((at(since) + at(until)) / 2, y + 18, text, "#ffffff", "middle", 12, "bold")
    drawing.text(at(0) + 5, 24, "the leader is cut off", RED, size=12)
    drawing.text(at(clock.timeout) - 5, 24, "the servers may end the session", BLUE, "end", 12)
    drawing.line(left, axis, right, axis)
    for time, name in ((0, "0"), (clock.suspect, "SUSPECT"), (clock.lost, "LOST"), (clock.timeout, "T")):
        drawing.line(at(time), axis, at(time), axis + 6)
        drawing.text(at(time), axis + 20, name, anchor="middle", size=12)
        drawing.text(at(time), axis + 35, seconds(time), FAINT, "middle", 12)
    drawing.write(path)


class States:
    """States as boxes; arrows between them are drawn by hand. Every state of the enumeration has to be shown."""

    def __init__(self, drawing, known, width=118, height=38):
        self.drawing, self.left_over = drawing, set(known)
        self.width, self.height = width, height

    def state(self, name, x, y, colour, note):
        self.left_over.remove(name)
        self.drawing.box(x, y, self.width, self.height, colour, radius=8)
        self.drawing.text(x + self.width / 2, y + 24, name, "#ffffff", "middle", 13, "bold")
        self.drawing.lines(x + self.width / 2, y + self.height + 16, note, 15, colour=FAINT, anchor="middle", size=12)

    def finish(self, path):
        if self.left_over:
            sys.exit(f"pictures: {path.name} does not show {', '.join(sorted(self.left_over))}")
        self.drawing.write(path)


def lease_states(source, path):
    clock = source.lease_clock()
    drawing = Drawing(900, 350, "States of a lease")
    states = States(drawing, source.states("lease.h", "CURATOR_LEASE_STATE_"))
    small = {"size": 12}
    drawing.box(180, 16, 560, 156, "#f4f4f4", GRID, radius=12)
    drawing.box(24, 120, 14, 14, INK, radius=7)
    drawing.arrow([(38, 127), (208, 127)])
    drawing.text(44, 118, "the lock is granted", **small)
    states.state("HELD", 210, 108, GREEN, [])
    states.state("SUSPECT", 590, 108, AMBER, [])
    drawing.arrow([(300, 106), (370, 56), (550, 56), (610, 106)], AMBER)
    drawing.lines(456, 40, [f"no heartbeat answered for {float(clock.beats_until_suspect):g} intervals,",
                            "or the connection is gone"], 15, anchor="middle", **small)
    drawing.arrow([(588, 127), (330, 127)], GREEN)
    drawing.text(456, 120, "a heartbeat is answered", anchor="middle", **small)
    states.state("RELEASED", 210, 276, GREY, ["final"])
    states.state("LOST", 590, 276, RED, ["final: stop at once"])
    drawing.arrow([(269, 172), (269, 274)], GREY)
    drawing.lines(281, 220, ["the program releases it"], 15, **small)
    drawing.arrow([(649, 172), (649, 274)], RED)
    drawing.lines(661, 194, ["the deadline has passed,", "the session is over,", "somebody deleted the node,", "or the client is closed"],
                  15, **small)
    states.finish(path)


def connection_states(source, path):
    drawing = Drawing(900, 360, "States of the connection")
    states = States(drawing, source.states("client.h", "CURATOR_CONNECTION_STATE_"), width=132)
    small = {"size": 12}
    drawing.box(24, 160, 14, 14, INK, radius=7)
    drawing.arrow([(38, 167), (148, 167)])
    drawing.text(42, 158, "the client starts", **small)
    states.state("SUSPENDED", 150, 148, AMBER, ["holds run towards", "their deadline"])
    states.state("CONNECTED", 440, 40, GREEN, [])
    states.state("RECONNECTED", 440, 148, GREEN, [])
    states.state("LOST", 440, 270, RED, ["every hold is gone"])
    drawing.arrow([(210, 146), (240, 62), (438, 50)], GREEN)
    drawing.text(262, 50, "first connection", anchor="middle", **small)
    drawing.arrow([(438, 70), (330, 80), (252, 146)], AMBER)
    drawing.text(412, 108, "connection gone", anchor="middle", **small)
    drawing.arrow([(284, 158), (438, 158)], GREEN)
    drawing.text(361, 151, "same session", anchor="middle", **small)
    drawing.arrow([(438, 177), (284, 177)], AMBER)
    drawing.text(361, 193, "connection gone", anchor="middle", **small)
    drawing.arrow([(284, 186), (350, 270), (438, 284)], RED)
    drawing.lines(330, 290, ["the servers ended the session,", "or no connection for T"], 15, anchor="end", **small)
    drawing.arrow([(574, 286), (660, 230), (574, 178)], GREEN)
    drawing.lines(630, 226, ["connected with a new session", "(CONNECTED if it is the first", "connection of the client)"], 15, **small)
    states.state("READ_ONLY", 720, 40, GREY, ["never entered: no lock can", "be had without a quorum"])
    drawing.text(720, 300, "LOST for good after", colour=FAINT, **small)
    drawing.text(720, 315, "curator_client_close (), or", colour=FAINT, **small)
    drawing.text(720, 330, "when the servers refuse", colour=FAINT, **small)
    drawing.text(720, 345, "the credentials", colour=FAINT, **small)
    states.finish(path)


def main(root, directory):
    source, directory = Source(Path(root)), Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    timeline(source, directory / "timeline.svg")
    leader(source, directory / "leader.svg")
    lease_states(source, directory / "lease-states.svg")
    connection_states(source, directory / "connection-states.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
