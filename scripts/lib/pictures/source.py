# SPDX-License-Identifier: Apache-2.0
"""What the pictures show, read from the source, so that a picture cannot say anything else than the library does."""
import re
import sys
from fractions import Fraction


class Source:
    def __init__(self, root):
        self.client = "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / "src").glob("*/*.[ch]")))
        self.headers = {path.name: path.read_text(encoding="utf-8") for path in (root / "include/curator").glob("*.h")}

    def find(self, what, pattern, text=None):
        found = re.search(pattern, self.client if text is None else text, re.DOTALL)
        if not found:
            sys.exit(f"pictures: {what} is not found in src: adapt scripts/lib/pictures/source.py")
        return found

    def define(self, name):
        return int(self.find(name, rf"#define {name}\s+(\d+)\b").group(1))

    def function(self, name):
        return self.find(f"the function {name}", rf"\n\w*{name} \([^;{{]*\)\n{{\n.*?\n}}\n").group(0)

    def lease_clock(self):
        return LeaseClock(self)

    def states(self, header, prefix):
        """The constants of an enumeration that begin with a prefix, without it."""
        text = re.sub(r"/\*.*?\*/", "", self.headers[header], flags=re.DOTALL)
        body = self.find(f"the enumeration {prefix}", rf"typedef enum\s*{{([^}}]*{prefix}[^}}]*)}}", text).group(1)
        return re.findall(rf"{prefix}(\w+)", body)


class LeaseClock:
    """The time settings of a session, in seconds, for the default session timeout and the default tick."""

    def __init__(self, source):
        self.timeout = Fraction(int(source.find("the default session timeout",
                                                 r"session_timeout_ms = (\d+);|#define DEFAULT_SESSION_TIMEOUT_MS\s+(\d+)")
                                    .expand(r"\1\2")), 1000)
        self.tick = Fraction(source.define("DEFAULT_HALF_TICK_US"), 1000000) * 2
        self.beat_share = source.define("BEAT_SHARE")
        self.prompt_share = source.define("PROMPT_SHARE")
        # The whole sum: a part that is added there has to be added to the picture.
        source.find("the sum of the guard", r"return terms->period_us \+ terms->half_tick_us \+ prompt_us \(terms\)"
                    r"\s*\+ terms->session_us / DRIFT_SHARE;", source.function("guard_us"))
        self.clock_share = source.define("DRIFT_SHARE")
        late = source.find("the age at which a hold is SUSPECT", r"(\d+) \* terms->period_us / (\d+),",
                           source.function("curator_lease_until_suspect"))
        self.beats_until_suspect = Fraction(int(late.group(1)), int(late.group(2)))

    @property
    def beat(self):
        return self.timeout / self.beat_share

    @property
    def guard(self):
        """Name and length of each part."""
        return [("a lost heartbeat", f"T/{self.beat_share}", self.beat),
                ("half a tick of the servers", "tick/2", self.tick / 2),
                ("the slowest answer that counts", f"T/{self.prompt_share}", self.timeout / self.prompt_share),
                ("clocks that differ", f"T/{self.clock_share}", self.timeout / self.clock_share)]

    @property
    def suspect(self):
        return self.beats_until_suspect * self.beat

    @property
    def lost(self):
        return self.timeout - sum(length for *_, length in self.guard)

