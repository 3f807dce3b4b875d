"""Scopes that turn out to continue earlier ones."""

from stitch.core import LabelKind, Step
from stitch.label.local import LocalLabeler
from stitch.label.local.scopes import ScopeTracker
from stitch.label.local.threads import (
    JOIN_MARGIN,
)

JOINING = {"join: always": JOIN_MARGIN}
"""Weights under which every scope that was weighed continues an earlier one."""
LOOKING = {"look: always": JOIN_MARGIN}
"""Weights under which every such scope does so at the first look, before it is left."""


def test_a_join_is_a_merge_that_the_inventory_records():
    session = LocalLabeler().begin("t")
    session._scopes = ScopeTracker(JOINING | {"new: always": 9.0})
    steps = ["I need a bus to Boston.", "I need a hotel.", "I need some music."]
    labels = session.label([Step(id=str(n), role="user", content=content) for n, content in enumerate(steps)])
    inventory = session.inventory()
    (merge,) = inventory.merges
    assert (merge.kind, merge.alias, merge.into) == (LabelKind.SCOPE, labels[1].intent.scope, labels[0].intent.scope)
    vocabulary = inventory.vocabulary()
    read_as = [vocabulary.canonical(LabelKind.SCOPE, label.intent.scope or "") for label in labels]
    assert read_as == ["bus to Boston", "bus to Boston", "music"]
    assert [(scope.name, scope.steps) for scope in inventory.scopes] == [("bus to Boston", 2), ("music", 1)]
    saved = LocalLabeler().begin("t", session.save())
    assert saved.inventory() == inventory


def test_after_a_look_the_talk_goes_on_in_the_earlier_scope():
    session = LocalLabeler().begin("t")
    session._scopes = ScopeTracker(LOOKING | {"new: request": 9.0})
    said = ["I need a bus to Boston.", "I need a hotel.", "The hotel is fine.", "The hotel is fine."]
    labels = session.label([Step(id=str(n), role="user", content=content) for n, content in enumerate(said)])
    assert labels[1].intent.scope == labels[2].intent.scope != labels[0].intent.scope == labels[3].intent.scope
    assert [(scope.name, scope.steps) for scope in session.inventory().scopes] == [("bus to Boston", 4)]
