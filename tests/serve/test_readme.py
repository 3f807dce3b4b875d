"""What the first page says of the server runs as it stands there."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_calls_of_the_first_page_find_what_they_store(tmp_path):
    section = README.read_text(encoding="utf-8").split("## Over HTTP")[1].split("\n## ")[0]
    [block] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    assert len(block.splitlines()) <= 15
    calls = [each for each in re.split(r"^(?=stitch |curl )", block, flags=re.MULTILINE) if each]
    serve, *curls = (shlex.split(each, comments=each.startswith("stitch")) for each in calls)
    stitch = str(Path(sys.executable).parent / "stitch")
    command = [stitch, *serve[1 : serve.index("--port")], "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        answers = []
        for words in curls:
            here = [word.replace("localhost:8765", url.removeprefix("http://")) for word in words]
            done = subprocess.run(here, capture_output=True, check=True, timeout=60)
            answers.append(json.loads(done.stdout))
        process.terminate()
    stored, found = answers
    assert [receipt["state"] for receipt in stored["receipts"]] == ["stored", "stored"]
    assert "$98" in found["context"]
    assert process.returncode == 0
