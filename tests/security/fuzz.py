"""Coverage-guided fuzzing of everything that reads what strangers wrote: part of `make test-long`.

python tests/security/fuzz.py TARGET SECONDS        # needs atheris; ends with the first input that is not refused well

Targets: lines (of files to ingest), export (lines to import), settings (YAML), program (compiled prompts), text (what
is read and redacted of a step). A reader may refuse an input with an error of the library, and with nothing else.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["stitch", "yaml"]):
    from stitch.config import load_settings
    from stitch.errors import StitchError
    from stitch.label.model.compiled import read_program
    from stitch.lifecycle.export_schema import parse_line
    from stitch.sources import FileSource
    from stitch.text.dates import day_of, find_moments, read_timestamp, seconds_of, spans_of
    from stitch.text.secrets import redact_text
    from stitch.text.values import find_mentions

FOLDER = Path(tempfile.mkdtemp())


def written(data: bytes, ending: str) -> Path:
    path = FOLDER / f"input.{ending}"
    path.write_bytes(data)
    return path


def lines(data: bytes) -> None:
    for _ in FileSource(written(data, "jsonl")):
        pass


def export(data: bytes) -> None:
    with suppress(ValueError):
        parse_line(data.decode("utf-8", "replace"))


def settings(data: bytes) -> None:
    load_settings(written(data, "yaml"))


def program(data: bytes) -> None:
    read_program(written(data, "json"))


def text(data: bytes) -> None:
    said = data.decode("utf-8", "replace")
    cleaned, _ = redact_text(said)
    assert redact_text(cleaned)[0] == cleaned, "redacting twice changes something"
    find_mentions(said)
    find_moments(said)
    spans_of(said, asked=739_000)
    for read in (day_of, read_timestamp, seconds_of):
        read(said)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "lines": lines, "export": export, "settings": settings, "program": program, "text": text,
}  # fmt: skip


def main(name: str, seconds: str) -> None:
    target = TARGETS[name]

    def one(data: bytes) -> None:
        message = ""
        try:
            target(data)
        except StitchError as error:
            message = error.message
        assert "\n" not in message, "an error takes more than a line"

    arguments = [sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", "-print_final_stats=0"]
    atheris.Setup(arguments, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:3])
