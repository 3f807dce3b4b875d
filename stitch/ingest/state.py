"""Labeling state of the open trajectories, kept between two steps."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TypeVar

from stitch.core import (
    ChangeKind,
    ContextualIntent,
    Labeler,
    LabelInventory,
    LabelSession,
    LabelsMerged,
    MemoryEvent,
    Moment,
    Step,
    StepLabels,
)
from stitch.core.text_cache import forget_trajectory
from stitch.ingest.inventories import TenantInventories, without_retired
from stitch.ingest.lineage import WINDOW_STEPS, LineageSession
from stitch.journal import Checkpoint, Entry, Journal
from stitch.journal.database import Turn

BATCH_STEPS = 512
"""Number of steps labeled, embedded and put at a time, at most."""
KEPT_SPACES = 16
"""Number of label spaces kept of trajectories that are not going on, the last used ones."""
KEPT_STEPS = 50_000
"""The most steps of the trajectories kept ready, together: a labeling remembers a kilobyte a step or so."""
_CHECKPOINT_BYTES = 4096
"""A checkpoint waits for so many bytes of the last one a step: however much a trajectory remembers, saving it costs no
more a step than storing it."""
MAX_INLINE_REPLAY_STEPS = 64
"""Of a trajectory that was changed, so many steps are replayed by whoever adds to it next: 40 ms of work."""
_LONG_STEPS = 10_000
_UNKNOWN = -1
_LOST = StepLabels(intent=ContextualIntent(), made_by="")
"""In place of labels that are not there though they were made: `verify` names their step."""

_T = TypeVar("_T")


@dataclass
class TrajectoryState:
    """All that is remembered of a trajectory between two steps; the journal can give it again."""

    tenant: str
    trajectory: str
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held by whoever adds to the trajectory: its steps are labeled one after the other."""
    door: threading.Lock = field(default_factory=threading.Lock)
    """Held while steps are accepted and first put; taken inside `lock`, never around it."""
    users: int = 0
    session: LineageSession | None = None
    """None until it is needed, and after anything that leaves it in doubt."""
    position: int = -1
    """Number of labeled steps, all of which the session has taken in; -1 if the journal has to be asked."""
    saved: int = 0
    """Number of steps at the last checkpoint."""
    saved_bytes: int = 0
    """The length of what the session remembered then."""
    inventory: LabelInventory = field(default_factory=LabelInventory)
    """The label space when it was last asked for."""
    inventoried: int = 0
    """Number of steps that `inventory` knows."""
    merges: int = 0
    """How many merges were announced."""
    key: str = ""
    """The key of a server by which steps were added last: it led to the calls of a model that label them."""
    left: int = 0
    """The last change when it was last let go, where other processes may change it meanwhile."""
    seen: deque[tuple[int, float]] = field(default_factory=deque)
    """When this process first saw steps wait for their window: up to which (`Entry.seq`), the earliest first."""

    @property
    def kept_steps(self) -> int:
        """Weight of this state among those kept, in steps: long trajectories hardly grow, and cost most to save."""
        return min(self.position, _LONG_STEPS)


@dataclass(eq=False, kw_only=True)
class TrajectoryStates:
    """The trajectories that were used last, ready to go on; all others can be resumed from the journal.

    At most `limit` are kept, as long as they have no more than `KEPT_STEPS` steps. One that has to make room is saved;
    those in use stay.
    """

    journal: Journal
    labeler: Labeler
    notice: Callable[[MemoryEvent], None]
    limit: int
    checkpoint_steps: int
    hold: Callable[..., AbstractContextManager[Turn]]
    """Holds a trajectory that other processes may hold; see `Journal.exclusive` and `Journal.fenced`."""

    def __post_init__(self) -> None:
        self._states: OrderedDict[tuple[str, str], TrajectoryState] = OrderedDict()
        self._inventories = TenantInventories()
        self._shown: OrderedDict[tuple[str, str], tuple[LabelInventory, LabelInventory]] = OrderedDict()
        """The label spaces that were asked for last, with retired steps and without."""
        self._shared = self.journal.shared_id is not None
        self._followed = self.journal.last_change() if self._shared else 0
        """The last change that `inventory` has seen."""
        self._lock = threading.RLock()

    @contextmanager
    def held(self, tenant: str, trajectory: str) -> Iterator[TrajectoryState]:
        """A trajectory's state, for this thread alone."""
        with self.pinned(tenant, trajectory) as state:
            before = state.position
            try:
                with state.lock:
                    try:
                        with self.hold(tenant, trajectory, since=state.left) as turn:
                            if turn.changed and state.position != _UNKNOWN:
                                self.forget(state)
                                forget_trajectory(trajectory, tenant=tenant)
                            self._locate(state)
                            before = state.position
                            yield state
                            wait = max(self.checkpoint_steps, state.saved_bytes // _CHECKPOINT_BYTES)
                            if state.position - state.saved >= wait:
                                self._save(state)
                        state.left = turn.left
                    except BaseException:
                        state.session, state.position = None, _UNKNOWN  # whatever it was, the journal knows better
                        raise
            finally:
                if state.position != before:  # after the lock is free: who asks now is given the new one
                    self._inventories.changed(tenant, trajectory)

    def session(self, state: TrajectoryState) -> LineageSession:
        """The labeling of a trajectory, where it stands; labels that were made are taken in, never made again."""
        if state.session is None:
            key = state.tenant, state.trajectory
            session, checkpoint = taken_up(self.journal, self.labeler, *key, position=state.position)
            state.saved, state.inventory = 0, LabelInventory()
            if checkpoint is not None:
                state.saved, state.inventory = checkpoint.position, checkpoint.inventory
                state.saved_bytes = len(checkpoint.session)
            state.inventoried, state.merges = state.saved, len(state.inventory.merges)
            state.session = session
        return state.session

    @contextmanager
    def reworked(self, tenant: str, trajectory: str) -> Iterator[TrajectoryState]:
        """A trajectory for this thread alone, whose journal is changed; after that call `forget`."""
        with self.held(tenant, trajectory) as state:
            yield state
        with self._lock:
            self._shown.pop((tenant, trajectory), None)
        self._inventories.forget(tenant, trajectory)
        forget_trajectory(trajectory, tenant=tenant)
        if state.position:
            self._inventories.changed(tenant, trajectory)

    def forget(self, state: TrajectoryState) -> None:
        """Forget what is remembered of a trajectory that is held: the journal knows better."""
        state.session, state.inventory = None, LabelInventory()
        state.position, state.saved, state.inventoried, state.merges = _UNKNOWN, 0, 0, 0
        self._locate(state)

    @contextmanager
    def corrected(
        self, state: TrajectoryState, entry: Entry, *, step: Step, labels: StepLabels | None
    ) -> Iterator[Checkpoint | None]:
        """Correct a step of a trajectory that is held: the journal is changed within this.

        Yields what the labeling remembers once the step is corrected, which takes no longer however many steps there
        are; None if it has to be learnt again from the journal.
        """
        checkpoint = None
        session = self.session(state)
        if entry.labels is None or labels is None:
            learnt = entry.labels is labels  # neither: nothing was made of the step yet
        else:
            place = place_of(self.journal, entry)
            learnt = session.correct(place, before=(entry.step, entry.labels), after=(step, labels))
        if learnt:
            state.inventoried = _UNKNOWN
            checkpoint = self.checkpoint(session, position=state.position)
        yield checkpoint
        if checkpoint is None:
            self.forget(state)
            self._replay(state, left=MAX_INLINE_REPLAY_STEPS)
        else:
            state.saved, state.saved_bytes = checkpoint.position, len(checkpoint.session)
            self._show(state, checkpoint.inventory)  # whoever asks before the trajectory is let go sees it corrected
        with self._lock:
            self._shown.pop((state.tenant, state.trajectory), None)
        self._inventories.changed(state.tenant, state.trajectory)

    def replay(self, tenant: str, trajectory: str, *, left: int = MAX_INLINE_REPLAY_STEPS) -> None:
        """Replay a trajectory from the journal into its labeling, so that whoever adds or asks next need not wait.

        The last steps, `left` of them, may be left to them.
        """
        with self.held(tenant, trajectory) as state:
            self._replay(state, left=left)

    def _replay(self, state: TrajectoryState, *, left: int) -> None:
        checkpoint = self.journal.checkpoint(state.tenant, state.trajectory)
        if state.position - (checkpoint.position if checkpoint else 0) > left:
            self.session(state)
            self._save(state)

    def inventory(self, tenant: str, trajectory: str | None) -> LabelInventory:
        """The label space of a trajectory, or of a tenant; while labels are being made, the one before."""

        def shown(name: str) -> LabelInventory:
            whole, key = self.with_retired(tenant, name), (tenant, name)
            with self._lock:
                kept = self._shown.get(key)
            if kept is None or kept[0] is not whole:  # who retires steps lets the label space be made anew
                left = without_retired(whole, self.journal, tenant=tenant, trajectory=name)
                kept = whole, left
                with self._lock:
                    self._shown[key] = kept
                    self._shown.move_to_end(key)
                    while len(self._shown) > KEPT_SPACES:
                        self._shown.popitem(last=False)
            return kept[1]

        if self._shared:
            self._follow_others()
        if trajectory is not None:
            return shown(trajectory)
        return self._inventories.union(tenant, trajectories=lambda: self.journal.trajectories(tenant), part=shown)

    def save(self) -> None:
        """Make a checkpoint of every labeling; waits for those that are going on."""
        with self._lock:
            keys = list(self._states)
        for tenant, trajectory in keys:
            with self.held(tenant, trajectory) as state:
                self._save(state)

    @contextmanager
    def pinned(self, tenant: str, trajectory: str) -> Iterator[TrajectoryState]:
        """A trajectory's state, which stays the only one of it as long as somebody uses it."""
        key = (tenant, trajectory)
        with self._lock:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = TrajectoryState(tenant, trajectory)
            self._states.move_to_end(key)
            state.users += 1
            self._make_room()
        try:
            yield state
        finally:
            with self._lock:
                state.users -= 1
                if not (state.users or state.position or state.seen):  # not even its name, should all be erased
                    del self._states[key]

    def _follow_others(self) -> None:
        """Let go of label spaces of trajectories that were changed since this was last asked."""
        for change in self.journal.changes(after=self._followed):
            self._followed = change.number
            if change.kind is ChangeKind.ACCEPTED:
                continue
            if change.trajectory is None:
                self._inventories = TenantInventories()
                with self._lock:
                    self._shown.clear()
                continue
            self._inventories.changed(change.tenant, change.trajectory)
            key = (change.tenant, change.trajectory)
            with self._lock:
                self._shown.pop(key, None)
                state = self._states.get(key)
                if state is not None and not state.users and change.number > state.left:
                    del self._states[key]

    def _make_room(self) -> None:
        excess = len(self._states) - self.limit
        steps = sum(state.kept_steps for state in self._states.values()) - KEPT_STEPS
        for key, state in list(self._states.items()):
            if excess <= 0 and steps <= 0:
                return
            if not state.users:
                if not self._shared:  # or another process may have saved more meanwhile
                    self._save(state)
                del self._states[key]
                excess, steps = excess - 1, steps - state.kept_steps

    def _locate(self, state: TrajectoryState) -> None:
        if state.position == _UNKNOWN:
            state.position = self.journal.labeled(state.tenant, state.trajectory)

    def with_retired(self, tenant: str, trajectory: str) -> LabelInventory:
        """The label space of a trajectory in which retired steps count too; see `inventory`."""
        key = (tenant, trajectory)
        with self._lock:
            live, known = key in self._states, self._shown.get(key)
        if not live:
            labeled = self.journal.labeled(tenant, trajectory)
            if not labeled:
                return LabelInventory()
            if known is not None and known[0].steps == labeled:
                return known[0]
            checkpoint = self.journal.checkpoint(tenant, trajectory)
            if checkpoint and checkpoint.position == labeled:
                return checkpoint.inventory
        with self.pinned(tenant, trajectory) as state:
            if not state.lock.acquire(blocking=False):
                saved = None if state.inventory.steps else self.journal.checkpoint(tenant, trajectory)
                return saved.inventory if saved is not None else state.inventory
            try:
                self._locate(state)
                return self._inventory_now(state)
            finally:
                state.lock.release()

    def _inventory_now(self, state: TrajectoryState) -> LabelInventory:
        if state.position and (state.session is None or state.inventoried != state.position):
            self._show(state, self.session(state).inventory())
        return state.inventory

    def _show(self, state: TrajectoryState, inventory: LabelInventory) -> None:
        """Let this be the label space of a held trajectory as it stands, and tell of merges that are new in it."""
        state.inventory, state.inventoried = inventory, state.position
        for merge in inventory.merges[state.merges :]:
            self.notice(LabelsMerged(tenant=state.tenant, trajectory=state.trajectory, merge=merge))
        state.merges = len(inventory.merges)

    def checkpoint(self, session: LabelSession, *, position: int) -> Checkpoint:
        """The checkpoint of a labeling after so many steps, to be written down by whoever asks."""
        return Checkpoint(self.labeler.name, position, session.save(), session.inventory())

    def _save(self, state: TrajectoryState) -> None:
        if state.session is not None and state.position > state.saved:
            inventory = self._inventory_now(state)
            checkpoint = Checkpoint(self.labeler.name, state.position, state.session.save(), inventory)
            self.journal.save_checkpoint(state.tenant, state.trajectory, checkpoint)
            state.saved, state.saved_bytes = state.position, len(checkpoint.session)


def taken_up(
    journal: Journal, labeler: Labeler, tenant: str, trajectory: str, *, position: int
) -> tuple[LineageSession, Checkpoint | None]:
    """The labeling of a trajectory as it stands before a position, and the checkpoint from which it goes on, if any.

    Labels that were made since are taken in, never made again.
    """
    checkpoint = journal.checkpoint(tenant, trajectory)
    if checkpoint is not None and (checkpoint.labeler != labeler.name or checkpoint.position > position):
        checkpoint = None
    start, saved = (checkpoint.position, checkpoint.session) if checkpoint else (0, None)
    session = LineageSession(
        labeler.begin(trajectory, saved),
        before=journal.entries(tenant, trajectory, start=max(0, start - WINDOW_STEPS), stop=start),
        earlier=partial(journal.entry, tenant, trajectory),
    )
    for chunk in chunks(journal.entries(tenant, trajectory, start=start, stop=position), BATCH_STEPS):
        session.replay([entry.step for entry in chunk], [entry.labels or _LOST for entry in chunk])
    return session, checkpoint


def place_of(journal: Journal, entry: Entry) -> int:
    """Number of steps of its trajectory before one; where steps were erased, that is not its position."""
    upto = Moment(math.inf, entry.trajectory, entry.position)
    _, count = journal.lengths_at(upto, tenant=entry.tenant, trajectory=entry.trajectory)[entry.trajectory]
    return count - 1


def chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield the items in lists of `size`, the last one shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
