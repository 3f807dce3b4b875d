"""Packages that load what they name on first use give all of it, and say what they do not have."""

from importlib import import_module
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
ROOTS = {"stitch": "stitch"} | {name: f"stitch.{name}" for name in ("signatures", "pipelines", "bench", "configs")}
PACKAGES = sorted(
    ".".join((root, *file.parent.relative_to(REPOSITORY / folder).parts))
    for folder, root in ROOTS.items()
    for file in (REPOSITORY / folder).rglob("__init__.py")
    if "def __getattr__" in file.read_text()
)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_there_and_no_other(name: str) -> None:
    package = import_module(name)
    assert package.__all__
    if "__dir__" in vars(package):
        assert set(package.__all__) <= set(dir(package))
    for public in package.__all__:
        assert getattr(package, public) is not None
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = package.no_such_name
