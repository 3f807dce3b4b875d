"""What is installed is what is on disk, and it does not get in the way of anybody's own files."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import stitch

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("signatures", "pipelines", "bench", "configs", "examples")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run_python(code: str, *, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("COV", "STITCH_"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def packages_on_disk() -> set[str]:
    found = set()
    for folder in ("stitch", *FOLDERS):
        for init in (ROOT / folder).rglob("__init__.py"):
            inner = init.parent.relative_to(ROOT).parts
            found.add(".".join(inner if folder == "stitch" else ("stitch", *inner)))
    return found


def test_the_mapping_of_folders_equals_the_disk():
    settings = PYPROJECT["tool"]["setuptools"]
    assert set(settings["packages"]) == packages_on_disk()
    assert settings["package-dir"] == {"stitch": "stitch", **{f"stitch.{name}": name for name in FOLDERS}}


def test_every_package_is_imported_from_its_root_folder():
    for name in packages_on_disk():
        module = import_module(name)
        assert module.__file__ is not None
        parts = name.split(".")[1:]
        folder = ROOT / ("" if parts and parts[0] in FOLDERS else "stitch")
        assert Path(module.__file__).resolve() == folder.joinpath(*parts, "__init__.py")


def test_the_wheel_holds_every_file(tmp_path):
    copy = tmp_path / "checkout"
    for folder in ("stitch", *FOLDERS):  # without bytecode, which others may just be writing
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, copy]
        if find_spec("pip")
        else [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, copy],
        check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("stitch/")}
    wanted = set()
    for folder in ("stitch", *FOLDERS):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and not file.name.startswith("."):
                inner = file.relative_to(ROOT).parts
                wanted.add("/".join(inner if folder == "stitch" else ("stitch", *inner)))
    assert wanted - held == {"stitch/bench/EXPERIMENTS.md"}  # a page for who maintains the project
    assert held - wanted == set()
    assert wheel.stat().st_size < 12_500_000  # 11 MB of it are tables of words, compressed


def test_importing_stitch_is_light_and_neither_a_checkout_nor_own_files_of_such_names_beside_it_do_harm(tmp_path):
    (tmp_path / "stitch").symlink_to(ROOT, target_is_directory=True)
    (tmp_path / "signatures.py").write_text("raise RuntimeError('this is the wrong module')")
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "__init__.py").write_text("raise RuntimeError('this is the wrong package')")
    code = (
        "import sys; import stitch\n"
        "heavy = {'numpy', 'dspy', 'qdrant_client', 'qdrant_edge', 'pydantic', 'openai', 'model2vec', 'rich', 'click',"
        " 'signatures', 'pipelines', 'bench', 'configs'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "import stitch.cli; print(sorted((heavy - {'click'}) & set(sys.modules)))\n"
        "from stitch import Step, IntentFilter\n"
        "print(sorted({'numpy', 'dspy', 'qdrant_client', 'qdrant_edge'} & set(sys.modules)))\n"
        "import stitch.signatures, stitch.pipelines, stitch.bench\n"
        "from stitch import open_memory\n"
        "with open_memory('m') as memory:\n"
        "    print(memory.add(Step(role='user', content='hi'), trajectory='t').state.value)\n"
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'huggingface_hub'} & set(sys.modules)))"
    )
    assert run_python(code, cwd=tmp_path).split() == ["[]", "[]", "[]", "stored", "[]"]


def test_the_public_names_are_these():
    assert stitch.__all__ == [
        "Answer", "ContextualIntent", "IntentFilter", "LabelKind", "Memory", "MemorySnippet", "Receipt",
        "RetrievalResult", "ScoredSnippet", "Selector", "Step", "StitchError", "Tenants", "ToolCall", "Trajectory",
        "open_memory", "open_tenants",
    ]  # fmt: skip


def test_the_version_stands_in_one_place_and_heads_the_changelog():
    assert PYPROJECT["project"]["version"] == stitch.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {stitch.__version__}" in changelog


def test_the_map_of_the_house_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = {name for name in packages_on_disk() if f"`{name.removeprefix('stitch.')}`" not in text}
    assert missing == set()


def test_no_file_is_longer_than_600_lines_and_long_ones_say_why():
    for folder in ("stitch", *FOLDERS):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            length = text.count("\n")
            assert length <= 600, f"{file.relative_to(ROOT)} has {length} lines"
            if length > 400:
                assert "More than 400 lines because" in text, f"{file.relative_to(ROOT)} does not say why it is long"
