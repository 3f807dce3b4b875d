"""`stitch tree`: artifacts as trees."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from stitch.console.nodes import print_nodes, query_options
from stitch.console.options import Say, answering, json_option, memory_options, opened_memory, together
from stitch.console.out_file import written_privately
from stitch.console.printing import one_line, print_json, print_proof
from stitch.errors import InputError
from stitch.server.operations import trees

if TYPE_CHECKING:
    from stitch.memory import Memory

_FORMS = ("xml", "json", "yaml", "outline")
_MOST_SHOWN = 60

_branch_option = click.option("--branch", metavar="NAME", default="main", help="The branch.  [default: main]")
_version_option = click.option(
    "--version", metavar="V", help="A version (v2), a branch or a time.  [default: the last]"
)
_author_options = together(
    click.option("--message", metavar="TEXT", default="", help="The commit message."),
    click.option(
        "--author", metavar="NAME", default="person", help="The author: a person, an agent.  [default: person]"
    ),
)
_trajectory_option = click.option("--trajectory", metavar="ID", help="Record the edit as a step of this trajectory.")


@click.group()
def group() -> None:
    """Keep artifacts, such as an itinerary or a plan, as trees: query them by paths, edit them, revert to any version.

    \b
    Example:
      stitch tree create toronto toronto.xml --memory trip.memory
      stitch tree select '//Day[2]/POI[@cost <= 30]' --tree toronto --memory trip.memory
      stitch tree edit toronto cheaper.jsonl --message "cheaper dinners" --memory trip.memory
      stitch tree log toronto --memory trip.memory
    """


def _created(given: dict[str, Any]) -> dict[str, Any]:
    from stitch.trees.core.reading import form_of_name

    return {**given, "text": _read(given["file"]), "form": given["form"] or form_of_name(given["file"]),
            "definition": _definition(given["schema"])}  # fmt: skip


@answering(trees.tree_create, group=group, fields=_created, makes=True)
@click.argument("tree", metavar="NAME")
@click.argument("file", type=click.Path())
@click.option("--schema", metavar="FILE", type=click.Path(path_type=Path),
              help="The schema that edits must keep to, as YAML.  [default: inferred from the tree]")  # fmt: skip
@click.option("--format", "form", type=click.Choice(_FORMS), help="The format of FILE.  [default: by its name]")
@_author_options
@click.option("--time", metavar="TIME", default="", help="The time of creation, as ISO 8601.  [default: now]")
def create(told: trees.TreeCreated, say: Say, **_: Any) -> None:
    """Create the tree NAME from FILE (`-` for standard input): XML, JSON, YAML or a Markdown outline.

    An element of XML is a node: its name the type, its attributes the fields, its text the field `text`; `id` names it.
    JSON and YAML say {id, type, fields, children}, or are any object. A schema is YAML:

    \b
      root: Plan
      types:
        Plan: {children: [Day]}
        Day: {children: [POI], fields: {date: date}}
        POI: {fields: {name: {required: true}, cost: money, status: {values: [open, done]}}}

    \b
    Example:
      stitch tree create toronto toronto.xml --memory trip.memory
      stitch tree create todo todo.md --schema todo.yaml --memory work.memory --json
    """
    say(f"tree {told.tree} is created: {told.version}, {told.nodes} nodes ({_counted(told.types)})")


@answering(trees.trees, listed="trees", exclude={"next"})
def list_(told: trees.TreeList, say: Say, **_: Any) -> None:
    """List the trees of a memory, each with its last version.

    \b
    Example:
      stitch tree list --memory trip.memory
    """
    for row in told.trees:
        message = f": {one_line(row.message)}" if row.message else ""
        say(f"{row.tree}  {row.version}, {row.nodes} nodes ({_counted(row.types)})")
        say(f"  {row.time} by {row.author}{message}")
    if not told.trees:
        say("stitch: no trees in this memory; `stitch tree create NAME FILE` makes one", err=True)


group.add_command(list_, "list")


@answering(trees.tree_show, group=group)
@click.argument("tree", metavar="NAME")
@_branch_option
@_version_option
@click.option("--schema", is_flag=True, help="Print the schema that guards edits, as YAML.")
def show(told: trees.TreeShown, say: Say, schema: bool, **_: Any) -> None:
    """Draw the tree NAME: each node with its id and name.

    \b
    Example:
      stitch tree show toronto --memory trip.memory
      stitch tree show toronto --schema --memory trip.memory > schema.yaml
    """
    if schema:
        import yaml

        say(yaml.safe_dump(dict(told.definition), sort_keys=False, allow_unicode=True), nl=False)
        return
    say(f"{told.tree}, {told.version}")
    waiting: list[tuple[Any, int]] = [(told.root, 1)]
    while waiting:
        node, depth = waiting.pop()
        said = "  ".join(f"{field}: {one_line(value, limit=60)}" for field, value in node["fields"].items())
        say(one_line(f"{node['type']} ({node['id']})  {said}").join(["  " * depth, ""]))
        waiting.extend((child, depth + 1) for child in reversed(node.get("children", ())))


@answering(trees.tree_select, group=group, exclude={"explanation"})
@click.argument("query")
@click.option("--tree", metavar="NAME", help="The tree.  [default: all versions of all trees]")
@_branch_option
@_version_option
@click.option("--as-of", metavar="TIME", help="The tree as of a time; with /Version, the versions up to it.")
@query_options
def select(told: trees.Nodes, say: Say, explain: bool, **_: Any) -> None:
    """Find nodes by the path QUERY, the best first. A query that begins with /Version asks all versions.

    \b
    Example:
      stitch tree select '//Restaurant[@cost <= 30][node ~= "patio"] | top 3 by @rating' --tree toronto -m trip.memory
      stitch tree select '//Day[not(some(/POI[node ~= "work"]))]' --tree toronto -m trip.memory --explain
      stitch tree select '/Version[message ~= "poster"]//POI' --tree toronto -m trip.memory --json
    """
    print_nodes(told, explain=explain, say=say)


_EDITED: dict[str, Any] = {"exclude": {"lines"}, "exclude_unset": True}


@group.command()
@click.argument("tree", metavar="NAME")
@click.argument("file", type=click.Path(), required=False)
@memory_options
@_branch_option
@_author_options
@click.option("--onto", metavar="V", help="Refuse the commit unless this is the last version.")
@click.option("--schema", metavar="FILE", type=click.Path(path_type=Path),
              help="Replace the schema of the tree instead, as YAML.")  # fmt: skip
@_trajectory_option
@json_option
def edit(tree: str, file: str | None, *, as_json: bool, branch: str, message: str, author: str, onto: str | None,
         schema: Path | None, trajectory: str | None, **arguments: Any) -> None:  # fmt: skip
    """Commit the operations of FILE (`-` for standard input) to the tree NAME, all or none.

    FILE holds operations, as one JSON list or one a line, which are one commit; or one commit a line with `operations`,
    `message`, `author` and `time`, as a history. --message and --author are for commits that do not say theirs.

    \b
      {"op": "set", "id": "i007", "field": "cost", "old": "CAD 20", "value": "CAD 10"}
      {"op": "add", "parent": "i005", "position": 2, "node": {"type": "POI", "fields": {"name": "Zoo"}}}
      {"op": "delete", "id": "i007"}
      {"op": "move", "id": "i007", "parent": "i009", "position": 1}     or "before": ID, "after": ID

    Positions count all children from 1; of a move, after the node was taken out. `old` may be left out; if it is there
    and the field says something else, the commit is refused. null is no such field.

    \b
    Example:
      stitch tree edit toronto cheaper.jsonl --message "cheaper dinners" --memory trip.memory
      echo '{"op": "delete", "id": "i007"}' | stitch tree edit toronto - --memory trip.memory
      stitch tree edit toronto --schema toronto.yaml --memory trip.memory
    """
    if (file is None) == (schema is None):
        raise InputError("either FILE or --schema says what is edited", hint="see `stitch tree edit --help`")
    edit: Callable[[Memory], trees.TreeEdited]
    if schema is not None:
        edit = partial(
            trees.tree_schema, tree=tree, branch=branch, definition=_definition(schema), message=message, author=author
        )
    else:
        from stitch.trees.core.reading.json_yaml import read_commits

        words = {"message": message, "author": author}
        commits = [{**words, **commit} for commit in read_commits(_read(str(file)))]
        edit = partial(trees.tree_edit, tree=tree, branch=branch, commits=commits, onto=onto, trajectory=trajectory)
    with opened_memory(**arguments) as memory:
        told = edit(memory)
    if as_json:
        print_json(told.model_dump(**_EDITED))
    else:
        _print_edited(told, click.echo)


@answering(trees.tree_log, group=group, listed="commits", exclude={"next"}, exclude_unset=True)
@click.argument("tree", metavar="NAME")
@_branch_option
def log(told: trees.TreeLog, say: Say, branch: str, **_: Any) -> None:
    """List the versions of the tree NAME, the last first.

    \b
    Example:
      stitch tree log toronto --memory trip.memory
    """
    for commit in reversed(told.commits):
        say(f"{commit.version}  {commit.time}  {commit.author}  ({_what(commit)})")
        if commit.message:
            say(f"    {one_line(commit.message)}")
    for other, last in told.branches.items():
        if other != branch:
            say(f"branch {other} is at {last}")


@answering(trees.tree_diff, group=group, exclude={"lines"})
@click.argument("tree", metavar="NAME")
@click.argument("before")
@click.argument("after", required=False)
@_branch_option
def diff(told: trees.TreeDifference, say: Say, **_: Any) -> None:
    """Show the differences between versions BEFORE and AFTER (default: the last) of the tree NAME.

    \b
    Example:
      stitch tree diff toronto v1 v3 --memory trip.memory
      stitch tree diff toronto 2026-03-01 --memory trip.memory
    """
    _print_lines(told.lines, say)
    if not told.lines:
        say(f"stitch: no differences between {told.before} and {told.after}", err=True)


@answering(trees.tree_revert, group=group, **_EDITED)
@click.argument("tree", metavar="NAME")
@click.argument("version")
@_branch_option
@_author_options
@_trajectory_option
def revert(told: trees.TreeEdited, say: Say, **_: Any) -> None:
    """Restore VERSION of the tree NAME, as a new commit: what came between stays in the history.

    \b
    Example:
      stitch tree revert toronto v2 --memory trip.memory
    """
    _print_edited(told, say)


@group.command()
@click.argument("tree", metavar="NAME")
@memory_options
@_branch_option
@_version_option
@click.option("--format", "form", type=click.Choice(_FORMS), help="The format.  [default: by --out, or xml]")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="The file to write.  [default: standard output]"
)
@json_option
def export(tree: str, *, as_json: bool, branch: str, version: str | None, form: str | None, out: Path | None,
           **arguments: Any) -> None:  # fmt: skip
    """Write the tree NAME as XML, JSON, YAML or a Markdown outline, which `stitch tree create` reads as the same tree.

    \b
    Example:
      stitch tree export toronto --memory trip.memory > toronto.xml
      stitch tree export toronto --version v1 --out toronto.md --memory trip.memory
    """
    from stitch.trees.core.reading import form_of_name

    chosen = form or form_of_name("" if out is None else out.name) or "xml"
    with opened_memory(**arguments) as memory:
        told = trees.tree_export(memory, tree=tree, version=version, branch=branch, form=cast("trees.Form", chosen))
    if out is not None:
        with written_privately(out) as file:
            file.write(told.text.encode())
    if as_json:
        print_json(told.model_dump(exclude={"text"} if out is not None else set()))
    elif out is None:
        click.echo(told.text, nl=False)
    else:
        click.echo(f"{told.version} of tree {told.tree} is written to {out}", err=True)


@answering(trees.tree_delete, group=group)
@click.argument("tree", metavar="NAME")
@click.option(
    "--node", "nodes", multiple=True, metavar="ID", help="Erase only this node, from all versions. Repeatable."
)
@click.option("--version", "versions", multiple=True, metavar="V", help="Erase only this version. Repeatable.")
def delete(told: trees.TreeErased, say: Say, nodes: tuple[str, ...], versions: tuple[str, ...], **_: Any) -> int:
    """Erase the tree NAME with all its versions, and search every file for traces.

    --node erases a node and those below it from all versions, and --version erases a version; messages that quote what
    is erased are emptied. The exit status is 5 if a trace is left. Steps that tell of edits stay;
    `stitch forget erase` erases steps.

    \b
    Example:
      stitch tree delete toronto --memory trip.memory
      stitch tree delete toronto --node i007 --version v3 --memory trip.memory
    """
    if nodes or versions:
        say(f"erased from tree {told.tree}: {len(told.nodes)} nodes, {told.versions} versions")
        if told.emptied:
            say(f"messages that quoted it are emptied: {', '.join(told.emptied)}")
    else:
        say(f"tree {told.tree} is erased with its {told.versions} versions")
    return print_proof(told.proof, say, of="it", others="steps or other trees")


def _print_edited(told: trees.TreeEdited, say: Say) -> None:
    if not told.commits:
        say(f"stitch: nothing to commit: tree {told.tree} is unchanged, at {told.version}", err=True)
        return
    say(f"tree {told.tree} is at {told.version}")
    _print_lines(told.lines, say)


def _print_lines(lines: tuple[str, ...], say: Say) -> None:
    colors = {"+": "green", "-": "red", ">": "cyan", "~": "yellow"}
    for line in lines[:_MOST_SHOWN]:
        say(click.style(one_line(line), fg=colors.get(line[:1])))
    if len(lines) > _MOST_SHOWN:
        say(f"and {len(lines) - _MOST_SHOWN} more; --json gives all of them")


def _what(commit: trees.CommitRow) -> str:
    count = len(commit.operations)
    if count:
        return f"{count} operation{'' if count == 1 else 's'}"
    return "another schema" if commit.parent else "the whole tree"


def _counted(types: Any) -> str:
    return ", ".join(f"{count} {name}" for name, count in types.items())


def _definition(schema: Path | None) -> dict[str, Any] | None:
    """The schema in a file, if there is one."""
    from stitch.trees.core.schema import read_schema

    return None if schema is None else read_schema(_read(str(schema))).dump()


def _read(file: str) -> str:
    from stitch.trees.core.reading import file_text

    if file == "-":
        return sys.stdin.read()
    return file_text(Path(file))
