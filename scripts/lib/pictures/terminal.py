# SPDX-License-Identifier: Apache-2.0
"""A terminal for the programs that draw on one, and a picture of what it shows."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from itertools import groupby
from xml.sax.saxutils import escape

CELL_WIDTH, LINE_HEIGHT, MARGIN, BAR = 8.4, 18, 14, 26
PAPER, INK = "#1e1e1e", "#d4d4d4"
COLOURS = {31: "#f14c4c", 32: "#23d18b", 33: "#e5c07b", 34: "#5ea1f0", 35: "#d670d6", 36: "#29b8db", 37: "#e5e5e5",
           90: "#8a8a8a"}
PLAIN = (INK, False, False, False)  # colour, bold, dim, reverse
SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """Cells with a style each. Understands what zkflock and the demo send, and stops at anything else."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.pending, self.style = "", PLAIN
        self.clear()

    def clear(self):
        self.cells = [[(" ", PLAIN)] * self.columns for _ in range(self.rows)]
        self.row = self.column = 0

    def feed(self, text):
        text = self.pending + text
        self.pending, at = "", 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    if len(text) - at > 32:
                        sys.exit(f"pictures: the terminal does not know {text[at:at + 12]!r}")
                    self.pending = text[at:]
                    return
                self._control(*found.groups())
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == self.rows:
                self.cells = self.cells[1:] + [[(" ", PLAIN)] * self.columns]
                self.row -= 1
        elif self.column < self.columns:
            self.cells[self.row][self.column] = (character, self.style)
            self.column += 1

    def _control(self, private, numbers, letter):
        values = [int(number or 0) for number in numbers.split(";")]
        if private:
            if values[0] == 1049:
                self.clear()
        elif letter == "H":
            self.row, self.column = max(values[0], 1) - 1, max((values + [1])[1], 1) - 1
        elif letter in "JK":
            if letter == "J" and values[0] == 2:
                self.cells = [[(" ", PLAIN)] * self.columns for _ in range(self.rows)]
                return
            self.cells[self.row][self.column:] = [(" ", PLAIN)] * (self.columns - self.column)
            for row in range(self.row + 1, self.rows) if letter == "J" else ():
                self.cells[row] = [(" ", PLAIN)] * self.columns
        elif letter == "m":
            self._select(values)
        else:
            sys.exit(f"pictures: the terminal does not know ESC [ {numbers} {letter}")

    def _select(self, values):
        colour, bold, dim, reverse = self.style
        for value in values:
            if value == 0:
                colour, bold, dim, reverse = PLAIN
            elif value == 1:
                bold = True
            elif value == 2:
                dim = True
            elif value == 7:
                reverse = True
            elif value in COLOURS:
                colour = COLOURS[value]
            else:
                sys.exit(f"pictures: the terminal does not know the style {value}")
        self.style = (colour, bold, dim, reverse)

    def text(self):
        return "\n".join("".join(character for character, _ in row).rstrip() for row in self.cells).rstrip("\n")

    def write(self, path, title):
        lines = self.text().count("\n") + 1
        width = round(self.columns * CELL_WIDTH + 2 * MARGIN)
        height = BAR + lines * LINE_HEIGHT + 2 * MARGIN - 8
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
               'font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="14">',
               f"<title>{escape(title)}</title>",
               f'<rect width="{width}" height="{height}" rx="6" fill="{PAPER}"/>',
               f'<text x="{width / 2:g}" y="19" fill="#8a8a8a" text-anchor="middle" font-size="12">{escape(title)}</text>']
        for number, row in enumerate(self.cells[:lines]):
            y = BAR + MARGIN + number * LINE_HEIGHT + 5
            out += self._runs(row, y)
        path.write_text("\n".join(out + ["</svg>"]) + "\n", encoding="utf-8")

    @staticmethod
    def _runs(row, y):
        """One text for each word, so that columns stay columns in every font."""
        line = "".join(character for character, _ in row)
        column = 0
        for (colour, _, _, reverse), cells in groupby(row, key=lambda cell: cell[1]):
            length = len(list(cells))
            if reverse:
                yield (f'<rect x="{MARGIN + column * CELL_WIDTH:.1f}" y="{y - 14}" width="{length * CELL_WIDTH:.1f}" '
                       f'height="{LINE_HEIGHT}" fill="{colour}"/>')
            column += length
        starts = [match.span() for match in re.finditer(r"\S+", line)]
        for begin, end in starts:
            while begin < end:
                style = row[begin][1]
                stop = begin
                while stop < end and row[stop][1] == style:
                    stop += 1
                colour, bold, dim, reverse = style
                x, length = MARGIN + begin * CELL_WIDTH, (stop - begin) * CELL_WIDTH
                yield (f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs" '
                       f'fill="{PAPER if reverse else colour}"' + (' font-weight="bold"' if bold else "")
                       + (' fill-opacity="0.6"' if dim else "") + f">{escape(line[begin:stop])}</text>")
                begin = stop


def show(argv, columns, rows, until, patience_s=30):
    """Runs a program on such a terminal until its screen matches; returns the screen. The program is then told to end."""
    pid, master = pty.fork()
    if pid == 0:
        # The parent reads only after the size is set: the program cannot have written before it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", LC_ALL="C.UTF-8")
        os.environ.pop("NO_COLOR", None)
        os.execvp(argv[0], argv)
    screen, decoder = Screen(columns, rows), codecs.getincrementaldecoder("utf-8")()
    deadline = time.monotonic() + patience_s
    matches = False
    while not matches and time.monotonic() < deadline:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break  # the program has ended
        screen.feed(decoder.decode(data))
        matches = not screen.pending and all(re.search(pattern, screen.text()) for pattern in until)
    os.kill(pid, signal.SIGTERM)
    os.close(master)
    os.waitpid(pid, 0)
    if not matches:
        sys.exit(f"pictures: {' '.join(argv)} does not show {until}:\n{screen.text()}")
    return screen
