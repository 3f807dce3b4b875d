"""The journal in one SQLite file; nothing else of the library knows SQL."""

from stitch.journal.sqlite.copies import copy_running
from stitch.journal.sqlite.journal import Journal
from stitch.journal.sqlite.schema import VERSION, check_version

__all__ = ["VERSION", "Journal", "check_version", "copy_running"]
