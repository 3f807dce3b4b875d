"""Makes the pictures of the page for the read-me: `PYTHONPATH=tests python tests/server/pictures.py`, with Chromium.

Two views of the samples' memory, each in light and dark, into docs/images.
"""

import base64
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from doubles.serving import running
from stitch.bench.samples import sample

FOLDER = Path(__file__).parents[2] / "docs" / "images"
QUESTION = "Why did the tests fail after the key of the import was changed?"
VIEWS = {"timeline": f"#/timeline?trajectory=bugs&q={QUESTION}", "ask": f"#/ask?trajectory=bugs&q={QUESTION}"}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    chromium = shutil.which("chromium")
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "m") as client,
        sync_playwright() as begun,
        begun.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]) as browser,
    ):
        memory = client.served.tenants.memory("default")
        memory.add_many(sample("bugs").trajectory.steps, trajectory="bugs")
        for scheme in ("light", "dark"):
            for name, address in VIEWS.items():
                page = browser.new_page(viewport={"width": 1200, "height": 700}, color_scheme=scheme)
                page.goto(f"{client.url}/{address}")
                page.wait_for_selector(".lit-note .rank, .hit")
                page.wait_for_timeout(1_500)
                protocol = page.context.new_cdp_session(page)
                taken = protocol.send("Page.captureScreenshot", {"format": "webp", "quality": 90})
                (FOLDER / f"{name}-{scheme}.webp").write_bytes(base64.b64decode(taken["data"]))
                page.close()


if __name__ == "__main__":
    main()
