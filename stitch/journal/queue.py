"""The jobs of workers: trajectories that wait, in procrastinate's tables beside those of a shared journal."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from procrastinate.schema import SchemaManager

from stitch.errors import JournalError, StoreMismatchError
from stitch.journal.postgres import LET_READ

if TYPE_CHECKING:
    from stitch.journal.postgres import Postgres

QUEUE, TASK = "label", "stitch.advance"
ALIVE_S = 6.0
"""A worker that was not heard of for so long is taken for dead, and what it was at is done by others."""

_LOOK_S = 0.05
_FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION stitch_defer(trajectory bigint, whole boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := 't' || trajectory || CASE WHEN whole THEN ' whole' ELSE '' END;
BEGIN
    LOOP
        -- One that waits does this, too; held, so that no worker begins it before this transaction is seen.
        PERFORM id FROM procrastinate_jobs WHERE queueing_lock = name AND status = 'todo' FOR UPDATE;
        EXIT WHEN FOUND;
        BEGIN
            PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
                '{QUEUE}', '{TASK}', 0, 't' || trajectory, name,
                jsonb_build_object('trajectory', trajectory, 'whole', whole), NULL
            )::procrastinate_job_to_defer_v1]);
            EXIT;
        EXCEPTION WHEN unique_violation THEN NULL;
        END;
    END LOOP;
END $$;
CREATE OR REPLACE FUNCTION stitch_defer_later(trajectory bigint, upto bigint, after_s double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        '{QUEUE}', '{TASK}', -1, 't' || trajectory, 't' || trajectory || ' later',
        jsonb_build_object('trajectory', trajectory, 'upto', upto), now() + make_interval(secs => after_s)
    )::procrastinate_job_to_defer_v1]);
EXCEPTION WHEN unique_violation THEN NULL;  -- one waits already
END $$;
CREATE OR REPLACE FUNCTION stitch_accepted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM stitch_defer(NEW.trajectory, false);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER stitch_accepted AFTER INSERT ON changes FOR EACH ROW
    WHEN (NEW.kind IN ('accepted', 'restored') AND NEW.trajectory IS NOT NULL) EXECUTE FUNCTION stitch_accepted();
CREATE OR REPLACE FUNCTION stitch_done() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM procrastinate_jobs WHERE lock = OLD.lock AND status = 'todo') THEN
        PERFORM pg_notify('procrastinate_queue_v1#{QUEUE}', '{{"type": "job_inserted"}}');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER stitch_done AFTER DELETE ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION stitch_done();
"""
"""Whoever accepts steps defers the job of their trajectory in the same transaction, whatever program it is; workers are
told when a job need not wait for one of its trajectory any more, which procrastinate leaves to polling."""
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('stitch queue ' || current_schema()))"
_IS_THERE = """
    SELECT to_regprocedure('procrastinate_fetch_job_v2(character varying[], bigint)'),
        to_regclass('procrastinate_jobs')
"""
_NUMBERS = """
    SELECT number FROM trajectories
    JOIN unnest(%s::text[], %s::text[]) AS asked (tenant, name) USING (tenant, name)
"""
_NAMES = "SELECT tenant, name FROM trajectories WHERE number = %s"
_OPEN = "SELECT count(*) FROM procrastinate_jobs WHERE queueing_lock = ANY(%s) AND status IN ('todo', 'doing')"
_ALIVE = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => %s)"
_WAITING = """
    SELECT count(DISTINCT number), min(recorded) FILTER (WHERE state = 'accepted')
    FROM steps JOIN states USING (seq) JOIN trajectories ON trajectories.number = steps.trajectory
    WHERE state <> 'stored' AND state IN ('accepted', 'labeled') AND tenant = %s
"""


class WorkQueue:
    """Jobs of trajectories, which workers do; made where they are not there.

    Raises:
        JournalError: The tables of the queue are of a version that is not known.
    """

    def __init__(self, db: Postgres) -> None:
        self._db = db
        self.conninfo = db.conninfo
        with db.session() as session, session.connection.transaction():
            connection = session.connection
            connection.execute(_ONE_AT_A_TIME)
            known, there = connection.execute(_IS_THERE).fetchone()
            if there is None:
                connection.execute(SchemaManager.get_schema())
            elif known is None:
                raise JournalError(
                    f"the queue of journal {db.name!r} was made by another version of procrastinate",
                    hint="end all workers, then migrate its tables as procrastinate's documentation says",
                )
            connection.execute(_FUNCTIONS)
            connection.execute(LET_READ)

    def names(self, number: int) -> tuple[str, str] | None:
        """The tenant and the name of a trajectory; None if it is gone."""
        found: tuple[str, str] | None = self._row(_NAMES, number)
        return found

    def finish(self, trajectories: Iterable[tuple[str, str]]) -> None:
        """Have workers do all that can be done of trajectories, and wait for it.

        Raises:
            JournalError: No worker is there to do it.
        """
        asked = list(trajectories)
        if not asked:
            return
        with self._db.session() as db:
            rows = db.connection.execute(_NUMBERS, tuple(map(list, zip(*asked, strict=True)))).fetchall()
            for (number,) in rows:
                db.connection.execute("SELECT stitch_defer(%s, true)", (number,))
        names = [f"t{number} whole" for (number,) in rows]
        look_again_s, heard_of = _LOOK_S, time.monotonic()
        while self._row(_OPEN, names)[0]:
            if self.workers():
                heard_of = time.monotonic()
            elif time.monotonic() > heard_of + ALIVE_S:
                raise JournalError(
                    f"no worker of journal {self._db.name!r} is there, and {len(names)} trajectories wait for one",
                    hint="`stitch worker --memory URL --journal DSN` is one; what was accepted waits for it",
                )
            time.sleep(look_again_s)
            look_again_s = min(2 * look_again_s, 0.5)

    def workers(self) -> int:
        """The number of workers that were heard of within `ALIVE_S`."""
        return int(self._row(_ALIVE, ALIVE_S)[0])

    def state(self, tenant: str) -> dict[str, str]:
        """Workers that are there, and what of a tenant waits for them, as a status says it."""
        trajectories, since = self._row(_WAITING, tenant)
        oldest = "none" if since is None else datetime.fromtimestamp(since, timezone.utc).isoformat(timespec="seconds")
        return {
            "workers": str(self.workers()),
            "waiting trajectories": str(trajectories),
            "oldest step without labels": oldest,
        }

    def agree_on_labeler(self, name: str, *, is_worker: bool) -> None:
        """See that workers, and whoever relies on them, label in the same way; the only worker there decides.

        Raises:
            StoreMismatchError: They do not.
        """
        if not self._db.agree("labeler", name, anew=is_worker and not self.workers()):
            raise StoreMismatchError(
                f"workers of journal {self._db.name!r} do not label as {name!r} here",
                hint="give all of them, and who relies on them, the same labels, model and prompts",
            )

    def _row(self, query: str, *values: Any) -> Any:
        with self._db.session() as db:
            return db.connection.execute(query, values).fetchone()
