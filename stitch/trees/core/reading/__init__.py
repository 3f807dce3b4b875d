"""Trees of files and dictionaries, and back: XML, JSON, YAML, Markdown outlines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from stitch.errors import InputError
from stitch.trees.core.making import MAX_FILE_BYTES, Said, make, of_mapping
from stitch.trees.core.nodes import Tree
from stitch.trees.core.reading.json_yaml import read_json, read_yaml, write_json, write_yaml
from stitch.trees.core.reading.outline import read_outline, write_outline
from stitch.trees.core.reading.xml_format import read_xml, write_xml


class TreeFormat(NamedTuple):
    """A file format of trees."""

    endings: tuple[str, ...]
    """Of the names of files, the usual one first."""
    read: Callable[[str], Said]
    write: Callable[[Tree], str]


FORMATS: Mapping[str, TreeFormat] = {
    "xml": TreeFormat((".xml",), read_xml, write_xml),
    "json": TreeFormat((".json",), read_json, write_json),
    "yaml": TreeFormat((".yaml", ".yml"), read_yaml, write_yaml),
    "outline": TreeFormat((".md", ".markdown", ".txt"), read_outline, write_outline),
}
"""The formats by name; what one writes, it reads as the same tree."""


def read_text(text: str, *, form: str | None = None) -> Tree:
    """The tree that a text says.

    Args:
        text: XML, JSON, YAML or a Markdown outline.
        form: Which of these, one of `FORMATS`; told from how the text begins if None.

    Raises:
        InputError: It is malformed, or a tree that is too large or too deep; there is no such format.
    """
    name = form or _form_of(text)
    try:
        return Tree(make(_format(name).read(text)))
    except RecursionError:  # of a parser that is not ours
        raise InputError(f"the {name} is nested too deeply", hint="a tree is at most 100 levels deep") from None


def read_mapping(said: Mapping[str, Any]) -> Tree:
    """The tree that a dictionary says; see `stitch.trees.core.making.of_mapping`."""
    return Tree(make(of_mapping(said)))


def read_tree(source: str | PathLike[str] | Mapping[str, Any] | Tree, *, form: str | None = None) -> Tree:
    """The tree of a file, a dictionary, or itself.

    Args:
        source: The path of a file, or a dictionary. A text that is no path is not read as one: see `read_text`.
        form: The format of the file; told from its name, or else from how it begins, if None.

    Raises:
        InputError: There is no such file, or it is malformed, too large or too deep; the message names the file.
    """
    if isinstance(source, Tree):
        return Tree(source.root)
    if isinstance(source, Mapping):
        return read_mapping(source)
    if not isinstance(source, (str, PathLike)):
        raise InputError(
            f"a tree cannot be made of {type(source).__name__}", hint="give the path of a file, a dictionary or a Tree"
        )
    path = Path(source)
    text = file_text(path)
    try:
        return read_text(text, form=form or form_of_name(path.name))
    except InputError as error:
        raise InputError(f"{str(path)!r}: {error.message}", hint=error.hint) from None


def form_of_name(file: str) -> str | None:
    """The format that the name of a file says; None if it says none."""
    ending = Path(file).suffix.lower()
    return next((name for name, format_ in FORMATS.items() if ending in format_.endings), None)


def file_text(path: Path) -> str:
    """The text of a file."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InputError(
                f"{str(path)!r} has {size >> 20} MB, at most {MAX_FILE_BYTES >> 20} are read",
                hint="make several trees of it",
            )
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is no text in UTF-8", hint="save it as UTF-8") from None
    except (OSError, ValueError) as error:  # of a name that no file can have
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{str(path)!r} cannot be read: {reason}", hint="check the path") from None


def write_tree(tree: Tree, *, form: str) -> str:
    """A tree as a text, which is read as the same tree."""
    return _format(form).write(tree)


def _format(name: str) -> TreeFormat:
    if name not in FORMATS:
        raise InputError(f"no format {name!r} of trees", hint=f"one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _form_of(text: str) -> str:
    begin = text.lstrip()[:1]
    if begin == "<":
        return "xml"
    if begin in ("{", "["):
        return "json"
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "outline" if first.startswith(("#", "- ", "* ", "+ ")) else "yaml"
