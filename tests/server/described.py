"""Ask a server all that its description allows and much that it does not: `described.py --cases 10000`.

Needs schemathesis, which draws the requests. Nothing may end with 5xx, with a status or type that is not described, or
with an answer of another shape, and no path may be open without a key. Streams of events are left out: they do not end.
Ends with 1 where something is found.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "unsupported_method", "allow_header_conformance", "ignored_auth",
)  # fmt: skip
LINES = "hooks.py"
HOOK = """
import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return value.encode("utf-8", "replace") if isinstance(value, str) else b""
"""
"""How lines of JSON are sent: as they are drawn."""


def ask(url: str, key: str, *, cases: int, seed: int, folder: Path) -> int:
    """Run schemathesis; return how many cases it made. Ends the process where something is found."""
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        operations = sum(len(path) for path in json.load(answer)["paths"].values())
    (folder / LINES).write_text(HOOK)
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "run", f"{url}/openapi.json",
        "-H", f"Authorization: Bearer {key}", "--max-examples", str(-(-cases // operations)), "--seed", str(seed),
        "--exclude-path", "/v1/events", "--phases", "coverage,fuzzing", "--checks", ",".join(CHECKS),
        "--continue-on-failure", "--no-color", "--warnings", "off",
    ]  # fmt: skip
    there = {"PATH": "/usr/bin:/bin", "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=there)
    print(done.stdout[-12_000:])
    if done.returncode:
        sys.exit(f"schemathesis ended with {done.returncode} {done.stderr[-2_000:]}")
    made = re.search(r"(\d+) generated", done.stdout)
    return int(made[1]) if made else 0


def main() -> None:
    """Serve an empty memory with a key that may do everything, and ask it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    stitch = str(Path(sys.executable).parent / "stitch")
    with tempfile.TemporaryDirectory(prefix="stitch-described-") as temporary:
        folder = Path(temporary)
        actions = [word for action in ("read", "write", "forget", "admin") for word in ("--action", action)]
        add = [stitch, "keys", "add", "--keys", "keys.json", "--tenant", "ann", *actions, "--json"]
        key = json.loads(subprocess.run(add, cwd=folder, capture_output=True, check=True).stdout)["key"]
        serve = [stitch, "serve", "--memory", "m", "--keys", "keys.json", "--port", "0", "--json"]
        with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            try:
                made = ask(ready["url"], key, cases=options.cases, seed=options.seed, folder=folder)
            finally:
                process.terminate()
    assert process.returncode == 0
    print(f"{made} cases: no 5xx, nothing that is not described")


if __name__ == "__main__":
    main()
