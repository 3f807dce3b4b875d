"""The command `stitch`."""

from stitch.cli.main import main

__all__ = ["main"]
