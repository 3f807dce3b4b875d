"""Scheduled work of a server: retention rules are applied, backups made and old ones removed."""

from __future__ import annotations

import logging
import re
import shutil
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from stitch.errors import SettingsError, StitchError
from stitch.lifecycle.backup import MANIFEST

if TYPE_CHECKING:
    from stitch.config import ServeOptions
    from stitch.tenants import Tenants

HOUR_S = 3600.0
AGAIN_S = 600.0
"""After how long what failed is tried again."""
_FORM = "stitch-%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"stitch-\d{8}T\d{6}Z")
_log = logging.getLogger(__name__)


class ScheduledJobs:
    """Retention and backups of all tenants, each so and so often.

    Retention is applied at the start and then after every interval; a backup is due when the newest one that is there
    is old enough, so that a server that is often begun anew makes neither too many nor none.

    Raises:
        SettingsError: A backup is to be made, and it is not said where, or there is nothing to do.
    """

    def __init__(self, tenants: Tenants, options: ServeOptions, *, clock: Callable[[], float] = time.time) -> None:
        if options.backup_every_h is not None and options.backup_to is None:
            raise SettingsError("backups are to be made, and it is not said where", hint="name a folder: --backup-to")
        self._tenants, self._options, self._clock = tenants, options, clock
        self._folder = Path(options.backup_to) if options.backup_to else None
        self._retention_due = clock()
        self._backup_due = 0.0
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if there is anything to do."""
        if self._options.retention_every_h is None and self._options.backup_every_h is None:
            return
        self._thread = threading.Thread(target=self._run, name="stitch-scheduled-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing any more, and wait for what is under way."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def do_due(self) -> float:
        """Do what is due; return after how many seconds more may be."""
        now = self._clock()
        waits = []
        if (every_h := self._options.retention_every_h) is not None:
            if now >= self._retention_due:
                self._retention_due = now + (every_h * HOUR_S if self._expire() else min(AGAIN_S, every_h * HOUR_S))
            waits.append(self._retention_due - now)
        if (every_h := self._options.backup_every_h) is not None and self._folder is not None:
            due = max(self._backup_due, self._newest(self._folder) + every_h * HOUR_S)
            if now >= due:
                made = self._back_up(self._folder, now=now)
                due = self._backup_due = now + (every_h * HOUR_S if made else min(AGAIN_S, every_h * HOUR_S))
            waits.append(due - now)
        return min(waits)

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                wait_s = self.do_due()
            except Exception:  # noqa: BLE001 - a thread that ends would silently do nothing any more
                _log.exception("a chore failed")
                wait_s = AGAIN_S
            self._ending.wait(wait_s)

    def _expire(self) -> bool:
        """Apply the retention rules to every tenant; whether all of it could be done."""
        done = True
        for name in self._tenants.names():
            try:
                expiry = self._tenants.memory(name).lifecycle.expire()
            except StitchError as error:
                _log.error("retention of a tenant was not applied: %s", error.message)  # the name stays unsaid
                done = False
                continue
            if steps := sum(rule.steps for rule in expiry.rules):
                _log.info("retention concerned %d steps", steps)
            if expiry.proof is not None and expiry.proof.found:
                _log.error("of what expired, traces are left in %d files", len(expiry.proof.found))
        return done

    def _back_up(self, folder: Path, *, now: float) -> bool:
        """Make a backup, then remove the oldest beyond those that are kept; whether it was made."""
        to = folder / datetime.fromtimestamp(now, timezone.utc).strftime(_FORM)
        try:
            made = self._tenants.backup(to)
        except (StitchError, OSError) as error:
            _log.error("no backup was made in %r: %s", str(folder), error)
            return False
        _log.info("%d steps of %d tenants are backed up in %r", made.steps, made.tenants, str(made.folder))
        if self._options.keep is not None:
            for old in self._there(folder)[: -self._options.keep]:
                shutil.rmtree(old)
        return True

    def _newest(self, folder: Path) -> float:
        """The time of the newest backup, in Unix seconds; 0 if there is none."""
        there = self._there(folder)
        return datetime.strptime(f"{there[-1].name}+0000", f"{_FORM}%z").timestamp() if there else 0.0

    def _there(self, folder: Path) -> list[Path]:
        """The backups that were made so, the oldest first; nothing else in the folder is ever touched."""
        if not folder.is_dir():
            return []
        return sorted(each for each in folder.iterdir() if _NAME.fullmatch(each.name) and (each / MANIFEST).is_file())
