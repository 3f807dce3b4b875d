"""The log of a server, in which nothing stands of what tenants say: it is read by who runs the server."""

from __future__ import annotations

import logging
import re
import traceback

from stitch.core import StoreAway, StoreBack

_PLACE = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]")
_OWN = "stitch.server"
_WRITTEN_SO = ("stitch", "uvicorn")
"""Who logs with what it says as arguments; others may have written it into the words themselves."""


class WithoutText(logging.Formatter):
    """One line a record; of what is logged in the rooms below, only the words of the program and no name or text.

    Of what other packages log, who did and how grave it is.

    Of an error that nobody expected, its kind and where it was raised.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        event = getattr(record, "event", None)
        whole = record.name.startswith(_OWN) or isinstance(event, StoreAway | StoreBack)
        said = record.getMessage() if whole else self._words(record, event)
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = "".join(traceback.format_tb(error.__traceback__))
            said = f"{said}: {type(error).__name__}\n{frames}".rstrip()
        return f"stitch: {said}"

    @staticmethod
    def _words(record: logging.LogRecord, event: object) -> str:
        """The words of the program, with dots for what it says them of; of another package, that it says something."""
        if event is not None:
            return type(event).__name__
        if not record.name.startswith(_WRITTEN_SO):
            return f"{record.levelname.lower()} of {record.name}"
        return _PLACE.sub("…", str(record.msg))
