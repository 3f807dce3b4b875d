"""Workers in processes that are there at once: forks of one that has loaded all that they need.

Reads a line of JSON a worker (memory, journal, seconds between heartbeats); answers with its process id.
"""

import json
import os
import sys
import traceback
from pathlib import Path

import stitch.cluster.worker
import stitch.embed
import stitch.factory
import stitch.label.local
import stitch.store
from stitch.cluster.command import command
from stitch.journal import queue


def work(memory: str, journal: str, heartbeat_s: float, log: str) -> None:
    sys.stderr = Path(log).open("w")  # noqa: SIM115 - as long as the process
    stitch.cluster.worker.HEARTBEAT_S = heartbeat_s
    vars(stitch.cluster.worker)["ALIVE_S"] = queue.ALIVE_S = 4 * heartbeat_s
    try:
        command(["--memory", memory, "--journal", journal])
    except BaseException:  # noqa: BLE001 - whoever looks for what was wrong finds it in the log
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            sys.stdin = open(os.devnull)  # noqa: SIM115
            work(**json.loads(line))
        print(child, flush=True)
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass


if __name__ == "__main__":
    main()
