# SPDX-License-Identifier: Apache-2.0
"""The pictures of programs: each runs on a terminal, against a real server, and what it shows is kept.

recorded.py top ZKFLOCK CONNECT-STRING DIRECTORY
recorded.py demo CURATOR-DEMO CONNECT-STRING DIRECTORY
"""
import os
import subprocess
import sys
import time
from pathlib import Path

from terminal import show

# label, options and path: the first of a path holds, the others wait in this order
CONTENDERS = [("root@db1:4711", [], "/jobs/nightly"),
              ("root@db2:2044", [], "/jobs/nightly"),
              ("root@db3:913", [], "/jobs/nightly"),
              ("web1", ["-N", "2"], "/roll/web"),
              ("web2", ["-N", "2"], "/roll/web"),
              ("web3", ["-N", "2"], "/roll/web"),
              ("indexer", ["-s"], "/site/pages"),
              ("search", ["-s"], "/site/pages"),
              ("publisher", ["-x"], "/site/pages")]


def start(zkflock, environment, label, options, path):
    """Holds the lock, or waits for it, until its standard input ends; returns when it has its place."""
    holder = subprocess.Popen([zkflock, "--verbose", "--label", label, *options, path], env=environment, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for line in holder.stderr:
        if "waiting: " in line or ": granted, " in line:
            return holder
    sys.exit(f"pictures: {label} neither holds nor waits for {path}")


def top(zkflock, connect, directory):
    environment = os.environ | {"ZKFLOCK_HOSTS": connect}
    contenders = []
    try:
        for label, options, path in CONTENDERS:
            contenders.append(start(zkflock, environment, label, options, path))
            time.sleep(1)  # ages that differ
        os.environ["ZKFLOCK_HOSTS"] = connect
        screen = show([zkflock, "top", "/"], 96, 22, ["root@db3:913", "web3", "publisher"])
    finally:
        for contender in contenders:
            contender.stdin.close()
        for contender in contenders:
            contender.wait()
    screen.write(directory / "top.svg", "zkflock top")


def demo(program, connect, directory):
    screen = show([program, "--connect", connect, "--seconds", "20"], 100, 26, [r"1\d\.\d of 20 s", "HOLDS"])
    screen.write(directory / "demo.svg", "scripts/demo")


if __name__ == "__main__":
    {"top": top, "demo": demo}[sys.argv[1]](sys.argv[2], sys.argv[3], Path(sys.argv[4]))
