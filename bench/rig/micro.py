# SPDX-License-Identifier: Apache-2.0
"""Instructions per call of the hottest functions, counted by callgrind: the same on every run, whatever else the machine does.

micro.py PROGRAM [--check]: prints them; with --check fails if one is above its bound. The bounds are generous: they catch
a function that became several times as expensive.
"""
import re
import subprocess
import sys

# name: description, calls between the two measurements, bound for a debug build
FUNCTIONS = {
    "parse_name": ("parse the number in a node's name", 1000, 800),
    "order_64": ("sort 64 names", 20, 100_000),
    "order_1000": ("sort 1,000 names", 2, 2_000_000),
    "predicate_64": ("find the node in front of the 33rd of 64", 200, 6_000),
    "validate_path": ("validate a path", 1000, 3_500),
    "dispatch": ("dispatch a callback to its thread", 1000, 2_000),
    "reenter": ("re-enter and leave one level", 1000, 400),  # with a look at both clocks of the simulator
    "uncontended": ("acquire and release, with the simulated server", 200, 200_000),
}


def instructions(program, name, calls):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(calls)],
                          capture_output=True, text=True, check=False, env={"G_SLICE": "always-malloc", "PATH": "/usr/bin:/bin"})
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        sys.exit(f"{name}: {done.stderr}")
    return int(collected.group(1))


def main(program, check):
    too_many = 0
    print(f"{'function':14} {'instructions per call':>21}  {'bound' if check else ''}")
    for name, (what, calls, bound) in FUNCTIONS.items():
        each = (instructions(program, name, 2 * calls) - instructions(program, name, calls)) / calls
        print(f"{name:14} {each:21,.0f}  {f'{bound:,}' if check else ''}  {what}", flush=True)
        if check and each > bound:
            print(f"FAIL {name}: {each:,.0f} instructions per call, above the bound of {bound:,}")
            too_many += 1
    return 1 if too_many else 0


sys.exit(main(sys.argv[1], "--check" in sys.argv[2:]))
