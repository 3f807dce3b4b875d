"""The command `stitch`, as its script and `python -m stitch` begin it: Ctrl-C ends it in a line at any moment.

What it needs takes a moment to import, and it ends when all that it has opened is closed. A Ctrl-C before or after that
is an error of nothing.
"""

import os
import signal
import sys


def _open_closed_streams() -> None:
    """Open streams that lead nowhere for those that were closed, so that no file takes their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - the lowest free number is its own


def main() -> None:
    """Run the command and end the process."""
    _open_closed_streams()
    try:
        from stitch.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("stitch: interrupted\n")
        sys.exit(130)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing is open any more


if __name__ == "__main__":
    main()
