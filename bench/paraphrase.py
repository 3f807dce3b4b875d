"""A set of questions said in other words: `python -m stitch.bench.paraphrase DATA OUT --form behind`.

Questions of generated sets all have one form, and a memory may be good at that form alone. This writes the set anew
for `stitch bench retrieval`: "In the bus request where the city is Oslo, what was the fare?" becomes "What was the
fare in the bus request where the city is Oslo?" (`behind`) or "What was the fare for Oslo?" (`values`).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click

from stitch.bench.data.files import read_records
from stitch.bench.data.sets import load_questions

_LEADING = ("In ", "For ", "During ")
_ASKING = (", what ", ", which ", ", who ")
_WHERE = re.compile(r" (?:where|whose) ")
_AND = re.compile(r" and (?=the [^,]{0,200} is )")


def turn(question: str, *, form: str) -> str:
    """The question in another form; one that has no clause in front stays as it is."""
    ends = max(question.rfind(asking) for asking in _ASKING)
    clause, asked = question[: max(ends, 0)], question[ends + 2 :].removesuffix("?")
    said = _WHERE.split(clause, maxsplit=1)
    if not clause.startswith(_LEADING) or len(said) < 2:
        return question
    if form == "values":
        clause = "for " + " and ".join(value.rsplit(" is ", 1)[-1] for value in _AND.split(said[1]))
    return f"{asked[0].upper()}{asked[1:]} {clause[0].lower()}{clause[1:]}?"


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--form", type=click.Choice(["behind", "values"]), default="behind", show_default=True)
def main(data: Path, out: Path, form: str) -> None:
    """Write the set in the folder DATA to a new folder OUT with its questions turned round."""
    load_questions(data)  # which says what is wrong with it
    out.mkdir(parents=True)
    changed = 0
    for file in sorted(data.iterdir()):
        if not file.name.startswith("questions.jsonl"):
            shutil.copy(file, out / file.name)
            continue
        with (out / "questions.jsonl").open("w", encoding="utf-8") as questions:
            for _, record in read_records(file):
                turned = turn(record["question"], form=form)
                changed += turned != record["question"]
                questions.write(json.dumps({**record, "question": turned}) + "\n")
    click.echo(f"{changed} questions turned round")


if __name__ == "__main__":
    main()
