"""The labeler without a model, as its users see it."""

import pytest

from contracts.labeler import LabelerContract
from stitch.core import Step
from stitch.label.local import LocalLabeler


class TestLocalLabeler(LabelerContract):
    @pytest.fixture
    def labeler(self):
        return LocalLabeler()


def label(*contents, role="user"):
    steps = [Step(id=str(n), role=role, content=content) for n, content in enumerate(contents)]
    return LocalLabeler().begin("t").label(steps)
