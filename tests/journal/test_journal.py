"""The journal on each database: one contract."""

from itertools import count
from pathlib import Path

import pytest

from contracts.journal import JournalContract, MakeJournal
from doubles.postgres import MakeUrl
from stitch.journal import Journal


class TestJournalInAFile(JournalContract):
    @pytest.fixture
    def make_journal(self, tmp_path: Path) -> MakeJournal:
        names = (f"journal-{number}.sqlite" for number in count())
        return lambda: Journal(tmp_path / next(names))


class TestJournalInMemory(JournalContract):
    @pytest.fixture
    def make_journal(self) -> MakeJournal:
        return lambda: Journal(":memory:")


class TestJournalInPostgres(JournalContract):
    @pytest.fixture
    def make_journal(self, new_url: MakeUrl) -> MakeJournal:
        return lambda: Journal(new_url())
