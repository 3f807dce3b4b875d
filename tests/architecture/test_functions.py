"""What holds for every function: it is simple, and no cache of the process keeps users' words."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("stitch", "signatures", "pipelines", "bench", "configs")
MOST = 15


BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)


COUNTED = re.compile(r"\b(?:if|elif|for|while|except|assert|and|or|case)\b")
"""Each of what is counted has one of these words: a text with few of them needs no look at its tree."""


def complexity(function: ast.AST) -> int:
    """The cyclomatic complexity: 1, and 1 more a branch, loop, `and`, `or`, handler or part of a comprehension."""
    count = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            count += 1
        elif isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        elif isinstance(node, ast.match_case):
            count += 1
    return count


def functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and the methods of its classes; what is defined inside one counts as part of it."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}{node.name}.")


def test_no_function_is_complex(parsed: Callable[[Path], ast.Module]) -> None:
    found = set()
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            lines = file.read_text(encoding="utf-8").splitlines()
            for name, node in functions(parsed(file).body):
                text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                if len(COUNTED.findall(text)) >= MOST and complexity(node) > MOST:
                    found.add(f"{file.relative_to(ROOT)} {name}")
    assert found == set(), "take these apart"


def test_no_cache_of_the_process_keeps_words_that_an_erasure_does_not_clear(
    parsed: Callable[[Path], ast.Module],
) -> None:
    found = []
    for file in (ROOT / "stitch").rglob("*.py"):
        for node in ast.walk(parsed(file)) if "cache" in file.read_text(encoding="utf-8") else ():
            if isinstance(node, ast.FunctionDef):
                cached = any("cache" in ast.unparse(each) for each in node.decorator_list)
                cleared = any(ast.unparse(each).startswith("text_cache(") for each in node.decorator_list)
                of_object = any(ast.unparse(each) == "cached_property" for each in node.decorator_list)
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                of_words = any(each.annotation is None or ast.unparse(each.annotation) != "bool" for each in given)
                if cached and of_words and not cleared and not of_object:
                    found.append(f"{file.relative_to(ROOT)} {node.name}")
    assert found == [], "use stitch.core.text_cache.text_cache"
