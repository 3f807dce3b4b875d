"""The command `stitch`, as its script and `python -m stitch` begin it: Ctrl-C ends it in a line at any moment.

What it needs takes a moment to import, and it ends when all that it has opened is closed. A Ctrl-C before or after that
is an error of nothing.
"""

import signal
import sys


def main() -> None:
    """Run the command and end the process."""
    try:
        from stitch.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("stitch: interrupted\n")
        sys.exit(130)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is open any more


if __name__ == "__main__":
    main()
