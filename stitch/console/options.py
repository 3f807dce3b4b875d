"""Options that the subcommands share, and the memory that they open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stitch.console.idle import refuse_idle_model
from stitch.console.printing import print_json
from stitch.console.progress import progress_drawn

if TYPE_CHECKING:
    from stitch.memory import Memory

Command = TypeVar("Command", bound=Callable[..., Any])
Say = Callable[..., None]
"""Prints a line, as `click.echo` does."""


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Options as one decorator, in their order."""

    def added(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


memory_options = together(
    click.option("--memory", "-m", metavar="DIR", help="The memory: a folder, or the URL of a Qdrant server."),
    click.option("--tenant", metavar="NAME", help="The owner of the memory.  [default: default]"),
    click.option("--config", metavar="FILE", type=click.Path(), help="A YAML file of settings."),
)
"""Place and tenant of a memory; passed on to `opened_memory`."""

model_options = together(
    click.option("--model", metavar="NAME", help="The language model, such as openai/gpt-5-mini."),
    click.option("--base-url", metavar="URL", help="A server that speaks OpenAI's chat completions."),
    click.option("--model-budget-tokens", type=click.IntRange(min=0), metavar="N",
                 help="Budget of the model in tokens, prompts and replies together."),
    click.option("--model-budget-usd", type=click.FloatRange(min=0), metavar="N",
                 help="Budget of the model in dollars; needs its price in the settings."),
)  # fmt: skip
"""The model and the bounds of what it spends; passed on to `opened_memory`."""

labeling_options = together(
    click.option("--labels", type=click.Choice(["local", "model"]),
                 help="The labeler.  [default: model if --model is given for labels, else local]"),
    model_options,
    click.option("--window", metavar="auto|N", help="Steps that one call labels.  [default: auto]"),
    click.option("--asks/--no-asks", default=None,
                 help="Also write questions that each step answers, in other words.  [default: asks]"),
    click.option("--stepwise", is_flag=True, default=None, help="Label step by step, as in the paper."),
    click.option("--program", "label_program", metavar="FILE", help="Prompts compiled by `stitch optimize`."),
)  # fmt: skip
"""Those of `model_options`, and how a model labels."""

_AGE = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def age_s(text: str) -> float | None:
    """The seconds of an age such as 90d (or w, h, m); None if it is none."""
    found = _AGE.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


_JSON: dict[str, Any] = {"is_flag": True, "help": "Print one JSON object."}
json_option = click.option("--json", "as_json", **_JSON)


def answering(
    operation: Callable[..., Any],
    *,
    group: click.Group | None = None,
    fields: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    listed: str = "",
    doing: str = "",
    makes: bool = False,
    **dumped_as: Any,
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command of a function that prints what an operation answers; its own options and arguments are below.

    The function is called with the answer, `say` (which prints a line, but with `--json` nothing) and all that stands
    on the line by name; it returns the exit status, if that is not 0.

    Args:
        operation: A function of `stitch.server.operations`.
        group: Gets the command, under the name of the function.
        fields: Makes the arguments of it of all that stands on the line; options of other names are left out.
        listed: The field of the answer that goes on from page to page, where all pages are wanted.
        doing: What is drawn of its progress; nothing if it is quick.
        makes: Whether the memory is made if it is not there.
        dumped_as: How the answer is written as JSON, as `model_dump` takes it.
    """

    def command_of(show: Callable[..., int | None]) -> click.Command:
        @wraps(show)  # which brings its options along
        @click.pass_context
        def run(context: click.Context, /, *, as_json: bool, **given: Any) -> None:
            from stitch.server.operations.operation import OPERATIONS

            above = context.parent.params if context.parent else {}  # of a group that takes the same options
            given = {name: above.get(name) if value is None else value for name, value in given.items()}
            offered = OPERATIONS[operation.__name__]
            settings = {name: given.pop(name) for name in ("memory", "tenant", "config")}
            asked = {name: value for name, value in fields(given).items() if name in offered.arguments}
            opened = opened_memory(must_exist=not makes, **settings)
            with opened as memory, progress_drawn(doing) if doing else nullcontext():
                ask = partial(all_pages, operation, listed=listed) if listed else operation
                told = ask(memory, **asked)
            if as_json := as_json or above.get("as_json", False):
                print_json(offered.dumped(told, **dumped_as))
            if status := show(told, _silent if as_json else click.echo, **given):
                context.exit(status)

        made_command = click.command()(memory_options(run))
        made_command.params.append(click.Option(["--json", "as_json"], **_JSON))
        if group is not None:
            group.add_command(made_command, show.__name__)
        return made_command

    return command_of


def all_pages(operation: Callable[..., Any], memory: Memory, *, listed: str, **asked: Any) -> Any:
    """The first page of an answer with what all of them list."""
    from stitch.server.operations.answers import MOST_PAGE_ITEMS

    first = page = operation(memory, limit=MOST_PAGE_ITEMS, **asked)
    rows = [*getattr(page, listed)]
    while page.next is not None:
        page = operation(memory, limit=MOST_PAGE_ITEMS, after=page.next, **asked)
        rows += getattr(page, listed)
    return first.model_copy(update={listed: tuple(rows)})


def _silent(*printed: object, **options: object) -> None:
    """Prints nothing."""


@contextmanager
def opened_memory(*, must_exist: bool = True, **settings: Any) -> Iterator[Memory]:
    """Open the memory that the options name and close it in the end; refuse options that would do nothing."""
    from stitch.factory import open_memory

    refuse_idle_model(settings)
    with open_memory(must_exist=must_exist, **settings) as memory:
        if must_exist and settings.get("tenant") and not memory.trajectories() and not memory.trees.names():
            click.echo(f"stitch: the tenant {memory.tenant!r} has nothing in this memory", err=True)
        yield memory
