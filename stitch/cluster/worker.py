"""A worker: takes the jobs of trajectories out of the queue and brings each trajectory on, many at once."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.worker import Worker
from psycopg_pool import PoolTimeout

from stitch.errors import CallInterruptedError, ConflictError, StitchError, StoreUnavailableError
from stitch.ingest.ingestor import Ingestor
from stitch.ingest.shared import STORE_PAUSE_S, FencedWorker
from stitch.ingest.threads import FAILED_S
from stitch.journal.queue import ALIVE_S, QUEUE, TASK

HEARTBEAT_S = 2.0
_POLL_S = 0.5
"""Seconds after which the queue is looked at without being told: what is told may be lost with a connection."""
_AGAIN_S = (0.1, 0.5, 2.0)
"""Pauses before what goes to the database is tried again, if a connection was lost."""
_CONNECTIONS = 4

_log = logging.getLogger(__name__)


class PatientConnector(PsycopgConnector):
    """Tries again what a lost connection has cut off: a job whose end is not written down would never be free."""

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Run a statement; one that had been done is refused by procrastinate the second time, which is as good."""
        for pause_s in _AGAIN_S:
            try:
                await super().execute_query_async(query, **arguments)
            except ConnectorException:
                await asyncio.sleep(pause_s)
            else:
                return
        await super().execute_query_async(query, **arguments)


class ClusterWorker:
    """Brings on the trajectories whose jobs stand in the queue, until it is stopped.

    A job names a trajectory and no steps: whoever takes it does all that is there by then. At most one job of a
    trajectory is under way; should a worker that was taken for dead come back, its writes fail.

    Args:
        ingestor: Of a memory that was opened for a worker.
        concurrency: How many trajectories are worked on at once.
    """

    def __init__(self, ingestor: Ingestor, *, concurrency: int) -> None:
        assert isinstance(ingestor.worker, FencedWorker)
        self._worker, self._queue = ingestor.worker, ingestor.journal.queue
        self._patience_s = float(getattr(ingestor.labeler, "patience_s", 0.0))
        self._concurrency = concurrency
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="stitch-worker")
        self._active = set[int]()
        self._suspects = set[int | None]()
        """Jobs that this worker took and did not know of when it last looked."""
        self._app = App(connector=PatientConnector(conninfo=self._queue.conninfo, max_size=_CONNECTIONS))
        self._app.task(name=TASK, queue=QUEUE, pass_context=True)(self._advance)
        self._taking: Any = None  # procrastinate's worker, whose methods are not typed
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Take no further job, and end when those under way are done."""
        self._stopped.set()
        if self._taking is not None:
            self._taking.stop()

    async def run(self) -> None:
        """Work until stopped; while the database is away, wait for it."""
        while not self._stopped.is_set():
            try:
                async with self._app.open_async():
                    await self._run_once()
            except (ConnectorException, PoolTimeout) as error:
                _log.warning("the journal cannot be reached, and is tried again: %s", error.__cause__ or error)
            if not self._stopped.is_set():
                await asyncio.sleep(_AGAIN_S[-1])
        self._threads.shutdown()

    async def _run_once(self) -> None:
        self._taking = Worker(
            self._app,
            queues=[QUEUE],
            concurrency=self._concurrency,
            fetch_job_polling_interval=_POLL_S,
            update_heartbeat_interval=HEARTBEAT_S,
            stalled_worker_timeout=ALIVE_S,
            delete_jobs=DeleteJobCondition.ALWAYS,
            install_signal_handlers=False,
        )
        rescuing = asyncio.create_task(self._rescue_again_and_again())
        try:
            await self._taking.run()
        finally:
            rescuing.cancel()

    async def _advance(self, context: JobContext, trajectory: int, whole: bool = False, upto: int = 0) -> None:
        """Do a job; should it not come to its end, another one is deferred."""
        assert context.job.id is not None
        self._active.add(context.job.id)
        try:
            work = partial(self._work, trajectory, whole=whole, upto=upto)
            again_s, upto = await asyncio.get_running_loop().run_in_executor(self._threads, work)
            if again_s is not None:
                await self._defer(trajectory, after_s=again_s, upto=upto)
        finally:
            self._active.discard(context.job.id)

    def _work(self, number: int, *, whole: bool, upto: int) -> tuple[float | None, int]:
        """Work on a trajectory; return after how many seconds to look at it again, and what does not wait then."""
        try:
            names = self._queue.names(number)
            if names is None:
                return None, 0
            waiting = self._worker.work(*names, upto=upto, whole=whole)
        except (ConflictError, CallInterruptedError):
            return 0.0, upto
        except StoreUnavailableError:
            return STORE_PAUSE_S, upto
        except StitchError as error:
            _log.warning("steps of trajectory number %d have to wait: %s", number, error)
            return FAILED_S, upto
        except Exception:  # noqa: BLE001 - as in threads: the steps stay accepted, and are tried again
            _log.exception("steps of trajectory number %d have to wait", number)
            return FAILED_S, upto
        return (self._patience_s, waiting) if waiting else (None, 0)

    async def _defer(self, trajectory: int, *, after_s: float, upto: int) -> None:
        """Defer a job for later, of which there is one a trajectory; new steps do not wait for it.

        When that is the database decides by its clock: this machine may have another.
        """
        await self._app.connector.execute_query_async(
            "SELECT stitch_defer_later(%(number)s, %(upto)s, %(after_s)s)",
            number=trajectory, upto=upto, after_s=float(after_s),
        )  # fmt: skip

    async def _rescue_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            try:
                await self._rescue()
            except ConnectorException as error:
                _log.info("stalled jobs are looked for later: %s", error)

    async def _rescue(self) -> None:
        """Requeue the jobs of workers that went silent, and jobs that were lost on the way here."""
        manager = self._app.job_manager
        stalled = list(await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=ALIVE_S))
        mine = self._taking.worker_id if self._taking is not None else None
        taken = await manager.list_jobs_async(queue=QUEUE, status=Status.DOING.value, worker_id=mine) if mine else ()
        unknown = {job.id: job for job in taken if job.id not in self._active}
        stalled += [job for number, job in unknown.items() if number in self._suspects]
        self._suspects = set(unknown)
        for job in stalled:
            await self._replace(job)

    async def _replace(self, job: Job) -> None:
        """Put a job in the place of one that is stalled: whoever comes back late ends that one, and not this."""
        arguments = {"number": job.task_kwargs["trajectory"], "whole": bool(job.task_kwargs.get("whole"))}
        await self._app.connector.execute_query_async("SELECT stitch_defer(%(number)s, %(whole)s)", **arguments)
        with suppress(ConnectorException):  # another worker has ended it meanwhile
            await self._app.job_manager.finish_job(job, status=Status.ABORTED, delete_job=True)
