# SPDX-License-Identifier: Apache-2.0
"""Instructions a call of the hottest functions, counted by callgrind: the same on every run, whatever else the machine does.

micro.py PROGRAM [--check]: prints them; with --check fails where one is above its bound. The bounds are generous: they are
there for the day on which somebody makes something a few times as expensive.
"""
import re
import subprocess
import sys

# name: what, calls to tell apart, bound for a debug build
FUNCTIONS = {
    "parse_name": ("from a node's name to its number", 1000, 800),
    "order_64": ("a list of 64 names put in order", 20, 100_000),
    "order_1000": ("a list of 1,000 names put in order", 2, 2_000_000),
    "predicate_64": ("who is in front of the 33rd of 64", 200, 6_000),
    "validate_path": ("a path checked", 1000, 3_500),
    "dispatch": ("a callback handed over and taken", 1000, 2_000),
    "reenter": ("one level more and one level less", 1000, 300),
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
    print(f"{'function':14} {'instructions a call':>20}  {'bound' if check else ''}")
    for name, (what, calls, bound) in FUNCTIONS.items():
        each = (instructions(program, name, 2 * calls) - instructions(program, name, calls)) / calls
        print(f"{name:14} {each:20,.0f}  {f'{bound:,}' if check else ''}  {what}", flush=True)
        if check and each > bound:
            print(f"FAIL {name}: {each:,.0f} instructions a call, and the bound is {bound:,}")
            too_many += 1
    return 1 if too_many else 0


sys.exit(main(sys.argv[1], "--check" in sys.argv[2:]))
