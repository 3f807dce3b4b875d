"""Steps are retired or erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stitch.errors import InputError
from stitch.lifecycle.selection import Selector
from stitch.lifecycle.traces import Proof
from stitch.server.api.models import ForgetRequest, ForgetResponse, ProofModel
from stitch.server.api.naming import known_trajectory

if TYPE_CHECKING:
    from stitch.memory import Memory


def forget(memory: Memory, request: ForgetRequest) -> ForgetResponse:
    """Erase steps everywhere with proof, or take them out of retrieval; or only count them."""
    selector = Selector(**{name: getattr(request, name) for name in Selector.model_fields})
    if not request.missing_ok:
        _check(selector, memory)
    lifecycle, dry_run = memory.lifecycle, request.dry_run
    if dry_run:
        return ForgetResponse(steps=lifecycle.count(selector), dry_run=dry_run)
    if request.action == "retire":
        steps = lifecycle.retire(selector, reason=request.reason, trust_clock=request.trust_clock)
        return ForgetResponse(steps=steps, dry_run=dry_run)
    erased = lifecycle.erase(selector, trust_clock=request.trust_clock)
    return ForgetResponse(
        steps=erased.steps, trajectories=erased.trajectories, dry_run=dry_run, proof=proof_of(erased.proof)
    )


def proof_of(proof: Proof) -> ProofModel:
    """What is answered of a proof."""
    return ProofModel.made_of(proof)


def _check(selector: Selector, memory: Memory) -> None:
    """See that the trajectory and the step that are named are there.

    Raises:
        InputError: One is not.
    """
    name, step = known_trajectory(memory, selector.trajectory), selector.step
    if name is not None and step is not None and all(entry.id != step for entry in memory.steps(name)):
        raise InputError(f"no step {step!r} in trajectory {name!r}", hint="`stitch show --steps` lists the steps")
