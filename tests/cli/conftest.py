"""What tests of the command share: an empty folder, no settings from outside, and a way to run it."""

import sys

import pytest

from stitch.cli import main
from stitch.config import Settings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """The current folder is empty, and no setting stands in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"STITCH_{name.upper()}", raising=False)


@pytest.fixture
def run(monkeypatch, capfd):
    """Runs the command in this process; gives exit status, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["stitch", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return ended.value.code or 0, out, err

    return call
