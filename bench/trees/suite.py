"""`stitch bench trees`: gold path queries of a domain against gold nodes, and requests in words.

Where the scorer was fitted on the set at hand, its conditions are judged by a model that saw none of them
(`bench.fit.paths`). Of several forms of a request, the first is measured. A node of `may` counts neither way.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from stitch.bench.figures import print_table
from stitch.bench.trees.sets import PARTS, Outcome, Request, TreeSet, load_tree_set, mean_of, meets
from stitch.console.idle import refuse_idle
from stitch.console.printing import print_json
from stitch.errors import ReplyError, SettingsError, StitchError
from stitch.factory import open_memory
from stitch.retrieve.path import Cut, Forest, select
from stitch.retrieve.path.forest import version_forest
from stitch.retrieve.path.scorers import SCORERS, Scorer, SimilarityScorer, scorer_named
from stitch.retrieve.path.scorers.similarity import Calibration
from stitch.retrieve.path.semantics import ScorerSemantics
from stitch.trees.core.edits import apply

if TYPE_CHECKING:
    from stitch.lm import LanguageModel
    from stitch.signatures.programs import TreeProgram
    from stitch.trees import TreeReply, VersionedTree


class Done(NamedTuple):
    """The outcome of a request."""

    outcome: Outcome
    kind: bool
    """Whether the kind of request was told."""
    edited: bool | None
    """Whether the proposal changes exactly what is expected; None of a request that changes nothing."""
    calls: int
    tokens: int
    unusable: str
    """The reason why the model's reply could not be used; empty if it could."""


def run_in_words(domain: TreeSet, model: LanguageModel, *, program: TreeProgram | None = None) -> list[Done]:
    """Do each request of a domain by itself, on its last version; proposals are compared, not committed."""
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder) / "m", labels="local") as memory:
        first, *others = domain.history
        tree = memory.trees.create("tree", domain.trees[first["version"]], message=first["message"], time=first["time"])
        if others:
            tree.edit_all(others)
        return [_done(request, tree, model, program) for request in domain.requests]


def _done(request: Request, tree: VersionedTree, model: LanguageModel, program: TreeProgram | None) -> Done:
    from stitch.trees.requests.conversation import TreeConversation

    spent = model.ledger.total()
    replies: list[TreeReply] = []
    unusable = ""
    try:
        conversation = TreeConversation(tree, model=model, tenant="bench", program=program)
        replies = conversation.request(request.words, confirm=False)
    except ReplyError as error:
        unusable = error.message
    found = {id_ for reply in replies for id_ in _found(reply)}
    after = model.ledger.total()
    return Done(
        Outcome(request, frozenset(found), sum(reply.milliseconds for reply in replies)),
        any(reply.kind == ("versions" if request.kind == "version" else request.kind) for reply in replies),
        _edited(request, tree, replies) if request.edit else None,
        after.calls - spent.calls,
        after.tokens - spent.tokens,
        unusable,
    )


def _found(reply: TreeReply) -> Iterable[str]:
    return () if reply.selection is None else (id_ for id_ in reply.selection.ids if id_ not in reply.removed)


def _edited(request: Request, tree: VersionedTree, replies: Iterable[TreeReply]) -> bool:
    after = tree.tree
    try:
        for reply in replies:
            after = apply(after, reply.operations)
    except StitchError:  # two proposals of one request that cannot both be done
        return False
    return meets(request.edit, before=tree.tree, after=after)


def figures_in_words(done: list[Done]) -> dict[str, Any]:
    """F1 of each part, kinds, edits, and what it cost."""
    figures: dict[str, Any] = {}
    for part in PARTS:
        own = [each.outcome for each in done if each.outcome.request.part == part]
        f1, exact = mean_of(each.f1 for each in own), mean_of(float(each.exact) for each in own)
        figures[part] = {"requests": len(own), "f1": f1, "exact_share": exact}
    edits = [float(each.edited) for each in done if each.edited is not None]
    return figures | {
        "edits": {"requests": len(edits), "exact_share": mean_of(edits)},
        "kind": mean_of(float(each.kind) for each in done),
        "calls": sum(each.calls for each in done),
        "tokens": sum(each.tokens for each in done),
        "unusable": sum(bool(each.unusable) for each in done),
    }


LEFT_OUT = Path(__file__).parent / "left_out.json"
"""Of each scorer, the model by which a set of the fit is judged: it saw nothing of that set."""


def unseen(scorer: Scorer, *, domain: str) -> Scorer:
    """The scorer as it has to be to judge a set: if it was fitted on it, the model that saw none of it."""
    kept = json.loads(LEFT_OUT.read_text(encoding="utf-8")).get(scorer.name, {})
    if not isinstance(scorer, SimilarityScorer) or domain not in kept:
        return scorer
    return scorer.with_calibration(Calibration(**kept[domain]))


def run_requests(domain: TreeSet, scorer: Scorer, *, cut: Cut) -> list[Outcome]:
    """Run the first gold path of each request: on the tree, or on all versions where versions are asked for."""
    semantics = ScorerSemantics(scorer)
    forests = {"tree": Forest(domain.tree), "version": version_forest(domain.versions, tree=domain.trees.__getitem__)}
    outcomes = []
    for request in domain.requests:
        forest = forests["version" if request.part == "version" else "tree"]
        began = time.perf_counter()
        found = select(request.paths[0], forest=forest, semantics=semantics, cut=cut)
        outcomes.append(Outcome(request, frozenset(found.ids), (time.perf_counter() - began) * 1000))
    return outcomes


def measure(domain: TreeSet, scorer: Scorer, *, cut: Cut) -> dict[str, Any]:
    """All figures of a domain."""
    outcomes = run_requests(domain, scorer, cut=cut)
    by_part = {part: [each for each in outcomes if each.request.part == part] for part in PARTS}
    figures: dict[str, Any] = {"set": domain.name, "scorer": scorer.name, "requests": len(outcomes)}
    for part, found in by_part.items():
        figures[part] = _part(found)
    figures["milliseconds_p50"] = round(median(each.milliseconds for each in outcomes), 3) if outcomes else None
    return figures


def _part(found: Sequence[Outcome]) -> dict[str, Any]:
    means = {name: mean_of(getattr(each, name) for each in found) for name in ("precision", "recall", "f1")}
    return {"requests": len(found), **means, "exact_share": mean_of(float(each.exact) for each in found)}


def _language_model(name: str | None, base_url: str | None, stack: ExitStack) -> LanguageModel:
    from stitch.parts import model_for

    model = model_for(model=name, base_url=base_url)
    stack.callback(model.close)
    return model


def _program(file: str | None) -> TreeProgram | None:
    if file is None:
        return None
    from stitch.label.model.compiled import load_program
    from stitch.signatures.programs import TreeProgram

    program = TreeProgram()
    load_program(file, program, target="path")
    return program


def _refuse_idle(scorer_name: str, *, in_words: bool) -> None:
    """Refuse options about models that would do nothing."""
    if not in_words:
        refuse_idle("program", reason="no request is read in words", hint="add --in-words")
    if not in_words and scorer_name != "model":
        refuse_idle("language_model", "base_url", reason="no language model is asked", hint="add --in-words")
    if scorer_name not in ("minilm", "sentence-transformers", "nli"):
        refuse_idle(
            "model_name", reason=f"the scorer {scorer_name!r} takes none", hint="leave it out, or name --scorer"
        )


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Folder of a domain.")
@click.option(
    "--scorer", "scorer_name", type=click.Choice(SCORERS), default="static", show_default=True, help="Who scores."
)
@click.option("--model", "model_name", help="What minilm, sentence-transformers or nli is to use: a path or a name.")
@click.option("--in-words", is_flag=True, help="Let a language model do the requests from their words, end to end.")
@click.option("--language-model", metavar="NAME", help="Of --in-words and --scorer model; such as openai/gpt-5-mini.")
@click.option("--base-url", metavar="URL", help="A server that speaks OpenAI's chat completions.")
@click.option("--program", metavar="FILE", help="Of --in-words: prompts compiled by `stitch optimize path`.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="From which score on a condition holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    data: Path,
    scorer_name: str,
    model_name: str | None,
    in_words: bool,
    language_model: str | None,
    base_url: str | None,
    program: str | None,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Measure path queries on trees with gold nodes.

    \b
    Example:
      stitch bench trees --data trees/itinerary
      stitch bench trees --data trees/itinerary --in-words --language-model openai/gpt-5-mini
    """
    _refuse_idle(scorer_name, in_words=in_words)
    domain = load_tree_set(data)
    if not domain.requests:
        raise SettingsError(f"no requests in {str(data)!r}", hint="--data names the folder of one domain")
    with ExitStack() as stack:
        model = _language_model(language_model, base_url, stack) if in_words or scorer_name == "model" else None
        chosen = scorer_named(scorer_name, model=model_name, language_model=model)
        scorer = unseen(chosen, domain=domain.name)
        cut = Cut(threshold=threshold)
        figures = measure(domain, scorer, cut=cut)
        if in_words and model is not None:
            figures["in_words"] = figures_in_words(run_in_words(domain, model, program=_program(program)))
    if as_json:
        print_json(figures)
    else:
        _show(figures)


def _show(figures: dict[str, Any]) -> None:
    title = f"{figures['set']}: {figures['requests']} requests, scorer {figures['scorer']}"
    print_table({part: figures[part] for part in PARTS}, title=title)
    if told := figures.get("in_words"):
        print_table({part: told[part] for part in (*PARTS, "edits")}, title="in words, end to end")
        click.echo(f"{told['calls']} calls, {told['tokens']} tokens; kind of request told: {told['kind']}")
