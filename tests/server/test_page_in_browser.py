"""The page in a real browser: every view on a memory that tells a story and on one that is being written.

`make test-page` runs these; they are skipped where there is no Chromium. With STITCH_TEST_PICTURES=FOLDER each view is
left there as a picture.
"""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from doubles.golden import compare
from doubles.serving import running
from stitch import open_memory
from stitch.bench.samples import outline, sample
from stitch.cli.main import cli
from stitch.server.keys import KeyFile, make_key
from stitch.server.operations.questions import search

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")]

QUESTION = "What did the washing machine cost the first time?"
STEP = sample("trip").trajectory.steps[20].id
SIZES = {"wide": (1280, 860), "phone": (390, 844)}
VIEWS = {
    "timeline": "#/timeline?trajectory=trip",
    "lit": f"#/timeline?trajectory=trip&q={QUESTION}",
    "step": f"#/timeline?trajectory=trip&in=trip&step={STEP}",
    "ask": f"#/ask?q={QUESTION}&why=5&whyin=trip",
    "compared": f"#/ask?q={QUESTION}&beside=1&lens2=hybrid",
    "empty-ask": "#/ask",
    "labels": "#/labels",
    "trees": '#/trees?path=//Stop[node ~= "outdoors in nature"]',
    "themes": "#/themes",
    "health": "#/health",
    "gone": "#/timeline?trajectory=never",
    "gone-step": "#/timeline?trajectory=bugs&in=bugs&step=never",
}
HOSTILE = (
    "<img src=x onerror=\"document.title='broken out'\">",
    "<script>document.title='broken out'</script>",
    "</script><script>document.title='broken out'</script>",
    "javascript:document.title='broken out' \u202e \u0000 {{constructor.constructor('document.title=1')()}}",
    "'\"><svg/onload=document.title='broken out'> <a href=\"javascript:document.title='broken out'\">click</a>",
)


@pytest.fixture(scope="module")
def browser():
    with pytest.importorskip("playwright.sync_api").sync_playwright() as begun:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        with begun.chromium.launch(executable_path=CHROMIUM, args=options) as launched:
            yield launched


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A memory that tells the story of the demo."""
    with running(tmp_path_factory.mktemp("told") / "m") as client:
        memory = client.served.tenants.memory("default")
        for name in ("trip", "bugs"):
            memory.add_many(sample(name).trajectory.steps, trajectory=name)
        client.post("/v1/trees", {"tree": "porto", "text": outline(), "message": "first plan"})
        cheaper = {"op": "set", "id": "gaveto", "field": "cost", "value": "EUR 30"}
        client.post("/v1/trees/edit", {"tree": "porto", "commits": [{"operations": [cheaper], "message": "cheaper"}]})
        yield client


@pytest.fixture
def written(tmp_path):
    with running(tmp_path / "written") as client:
        yield client


class Looked:
    """A page that is looked at; what its console says of errors is kept."""

    def __init__(self, browser, client, *, size="wide", scheme="light"):
        width, height = SIZES[size]
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page, self.client = self.context.new_page(), client
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("request", self._refuse_others)
        self.page.set_default_timeout(30_000)

    def _refuse_others(self, request):
        if not request.url.startswith((self.client.url, "file:")):
            self.errors.append(f"asks {request.url}")

    def open(self, address):
        self.page.goto(f"{self.client.url}/{address}")
        self.settle()
        return self.page

    def settle(self):
        self.until("!document.querySelector('.notice.loading, [aria-busy]') && document.querySelector('main > *')")
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, holds):
        """Wait until an expression holds; Playwright's own way is forbidden by the policy of the page."""
        for _ in range(300):
            if self.page.evaluate(f"Boolean({holds})"):
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"it never holds: {holds}")

    def violations(self):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        found = axe.Axe().run(self.page).response["violations"]
        return [(each["id"], [node["target"] for node in each["nodes"]]) for each in found]

    def keep(self, name):
        if folder := os.environ.get("STITCH_TEST_PICTURES"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=f"{folder}/{name}.png")


@pytest.fixture
def looking(browser):
    begun = []

    def call(client, **options):
        begun.append(Looked(browser, client, **options))
        return begun[-1]

    yield call
    for each in begun:
        each.context.close()
        assert each.errors == []


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_every_view_is_whole_and_can_be_used_by_all(looking, told, size, scheme):
    for name, address in VIEWS.items():
        looked = looking(told, size=size, scheme=scheme)
        page = looked.open(address)
        looked.keep(f"{name}-{size}-{scheme}")
        assert looked.violations() == [], name
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is broader than the window by {wide}"
        looked.context.close()
        assert looked.errors == [], name


def test_every_view_has_its_landmarks_and_names(told, looking):
    """What somebody hears who does not see the page; with STITCH_TEST_GOLDEN=write it is written anew."""
    looked, heard = looking(told), []
    for name, address in VIEWS.items():
        page = looked.open(address)
        page.reload()
        looked.settle()
        kinds = "navigation|main|complementary|region|search|table|tree|slider|combobox|searchbox|textbox"
        told_by = rf"^ *- (?:(?:{kinds})\b[^:\n]*|heading [^\n]*\[level=1\])"
        lines = re.findall(told_by, page.locator("body").aria_snapshot(), re.MULTILINE)
        heard += [f"# {name}", *(re.sub(r"\d+", "0", line) for line in dict.fromkeys(lines)), ""]
    compare(Path(__file__).with_name("page_heard.txt"), "\n".join(heard))


def test_the_timeline_is_gone_through_by_keys(looking, told):
    looked = looking(told)
    page = looked.open(f"#/timeline?trajectory=bugs&q={QUESTION}")
    page.wait_for_selector(".lit-note .rank")
    page.focus(".lanes-scroll")
    scopes = told.get("/v1/timeline?trajectory=bugs&steps=false").json["scopes"]
    [(_, (resumed, _), *_)] = [scope["spans"] for scope in scopes if scope["spans"][0][0] == 0]
    went = {"ArrowRight": 1, "ArrowDown": resumed, "ArrowUp": 0, "End": 59, "Home": 0}
    for key, place in (("ArrowRight", 0), *went.items()):
        page.keyboard.press(key)
        assert page.locator(".lanes > .unseen").text_content().startswith(f"Step {place},"), key
    page.keyboard.press("+")
    assert "steps 0–" in page.locator(".range").text_content()
    page.keyboard.press("0")
    assert page.locator(".range").text_content() == "60 steps"
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel h2")
    assert "&in=bugs&step=" in page.url
    page.keyboard.press("Escape")
    page.wait_for_selector(".panel", state="hidden")


def test_why_a_question_got_its_answer_is_found(looking, told):
    looked = looking(told)
    page = looked.open("")
    page.fill("input[name=q]", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    found = search(told.served.tenants.memory("default"), query=QUESTION, k=10)
    assert [text.split()[-1] for text in page.locator(".hit .link").all_text_contents()] == [
        str(hit.position) for hit in found.hits
    ]
    assert page.locator(".reasons").text_content() == found.reasons[0]
    assert page.locator(".context-text").text_content() == found.context
    before = page.url
    page.click("[aria-label='Remove detail price']")
    page.wait_for_selector("text=Your labels")
    assert "filter=" in page.url
    page.go_back()
    looked.settle()
    assert page.url == before
    page.locator("input[type=range]").fill("150")
    looked.until("document.querySelector('output').textContent.includes('of 150 tokens')")
    page.fill(".why input", "5")
    page.click("text=Explain")
    page.wait_for_selector("text=/Not a hit: rank/")


def test_a_wrong_label_is_mended_and_taken_back(written, looking):
    written.add("The harbor inn costs $98.", "It has eleven rooms.")
    memory = written.served.tenants.memory("default")
    before = memory.get("t", "0").labels.intent.scope
    looked = looking(written)
    page = looked.open("#/timeline")
    page.click(".step-open >> nth=0")
    page.click("text=Correct…")
    page.fill("label:text('What it was for (scope)') + input", "the hotel")
    page.click("text=Save")
    page.wait_for_selector(".toast")
    page.wait_for_selector(".panel .chip.scope >> text=the hotel")
    assert memory.get("t", "0").labels.intent.scope == "the hotel"
    assert looked.violations() == []
    page.click(".toast >> text=Undo")
    looked.until("!document.querySelector('.panel .labels').textContent.includes('the hotel')")
    assert memory.get("t", "0").labels.intent.scope == before


def test_what_is_being_written_is_not_drawn_over_by_what_comes_in(written, looking):
    written.add("The harbor inn costs $98.", "It has eleven rooms.")
    memory = written.served.tenants.memory("default")
    page = looking(written).open("#/timeline?trajectory=t&in=t&step=0")
    page.wait_for_selector("text=Correct…")
    held: list[Any] = []
    page.route("**/v1/step?*", lambda route: held.append(route))
    memory.lifecycle.correct("0", trajectory="t", labels={"event_types": ["price"]})
    for _ in range(600):
        if not held:
            page.wait_for_timeout(50)
    page.click("text=Correct…")
    scope = "label:text('What it was for (scope)') + input"
    page.fill(scope, "the hotel")
    with page.expect_response("**/v1/history?*"):
        held[0].continue_()
    page.wait_for_timeout(300)
    assert page.input_value(scope) == "the hotel"


def test_the_scope_of_a_stretch_is_mended_at_once_and_taken_back(written, looking):
    memory = written.served.tenants.memory("default")
    memory.add_many(sample("trip").trajectory.steps, trajectory="trip")
    inventory = memory.inventory("trip")
    scope = max(inventory.scopes, key=lambda each: each.spans[0][1] - each.spans[0][0])
    first, last = scope.spans[0]
    before = {entry.id: entry.labels.intent.scope for entry in memory.steps("trip")}
    ids = [entry.id for entry in memory.steps("trip", start=first + 1, stop=last + 1)]
    looked = looking(written)
    page = looked.open(f"#/timeline?trajectory=trip&in=trip&step={ids[0]}")
    page.click("text=Correct…")
    page.fill("label:text('What it was for (scope)') + input", "by the sea")
    page.select_option(
        "label:text('The scope is corrected of') + select", label=f"from here on: steps {first + 1}–{last}"
    )
    assert looked.violations() == []
    page.click("text=Save")
    page.wait_for_selector(f".toast >> text={len(ids)} steps corrected.")
    now = {entry.id: entry.labels.intent.scope for entry in memory.steps("trip")}
    assert now == before | dict.fromkeys(ids, "by the sea")
    page.click(".toast >> text=Undo")
    for _ in range(300):
        if {entry.id: entry.labels.intent.scope for entry in memory.steps("trip")} == before:
            break
        page.wait_for_timeout(100)
    assert {entry.id: entry.labels.intent.scope for entry in memory.steps("trip")} == before


def test_a_step_is_erased_after_a_dry_run_and_the_proof_is_shown(written, looking):
    written.add("The harbor inn costs $98.", "It has eleven rooms.")
    looked = looking(written)
    page = looked.open("#/timeline?in=t&step=1")
    page.click("text=Erase…")
    assert "A dry run finds 1 step." in page.locator("dialog").text_content()
    assert looked.violations() == []
    page.click("dialog >> text=Cancel")
    assert written.get("/v1/step?trajectory=t&step=1").json["found"] is not None
    page.click("text=Erase…")
    page.click("text=Erase for good")
    page.wait_for_selector(".proof >> text=none was found")
    assert written.get("/v1/step?trajectory=t&step=1").json["found"] is None
    looked.until("document.querySelectorAll('.step-row').length === 1")


def test_a_step_is_retired_and_put_back(written, looking):
    written.add("The harbor inn costs $98.", "It has eleven rooms.")
    looked = looking(written)
    page = looked.open("#/timeline?in=t&step=0")

    def state():
        return written.get("/v1/step?trajectory=t&step=0").json["found"]["state"]

    def retire():
        page.click("text=Retire…")
        page.fill("dialog input", "sold out")
        page.click("dialog >> text='Retire'")
        page.wait_for_selector(".panel .notice >> text=sold out")
        assert state() == "retired"

    retire()
    assert looked.violations() == []
    page.click(".toast >> text=Undo")
    page.wait_for_selector(".panel .history >> text=put back by person")
    assert state() == "stored"
    retire()
    page.click(".panel .notice >> text=Put back")
    looked.until("document.querySelectorAll('.panel .history li').length === 2")
    assert state() == "stored"


def test_every_receipt_is_found_page_by_page_and_by_state(written, looking):
    written.add(*(f"Step {number}: the harbor inn costs ${number}." for number in range(120)))
    written.post("/v1/forget", {"trajectory": "t", "step": "7", "action": "retire", "reason": "sold out"})
    looked = looking(written)
    page = looked.open("#/health")
    card = page.locator("section[aria-label=Receipts]")
    for shown in (50, 100, 120):
        looked.until(f"document.querySelectorAll('section[aria-label=Receipts] tbody tr').length === {shown}")
        if shown < 120:
            card.locator("text=Show more").click()
    assert card.locator("text=Show more").count() == 0
    card.locator("select").select_option("retired")
    looked.until("document.querySelectorAll('section[aria-label=Receipts] tbody tr').length === 1")
    card.locator("text=/sold out/").wait_for()
    assert looked.violations() == []
    card.locator("tbody button").click()
    page.wait_for_selector(".panel >> text=Put back")


def test_a_scope_is_renamed_and_taken_back(written, looking):
    written.add("First the login timeout: people are signed out.", "The login timeout is half a minute.")
    [name] = {scope["name"] for scope in written.get("/v1/labels").json["scopes"]}
    looked = looking(written)
    page = looked.open("#/labels")
    page.click("text=Rename…")
    page.fill("dialog input", "sessions")
    page.click("dialog >> text='Rename'")
    page.wait_for_selector("table >> text=sessions")
    assert "sessions" in {each["name"] for each in written.get("/v1/labels").json["scopes"]}
    page.click(".toast >> text=Undo")
    page.wait_for_selector("table >> text=sessions", state="detached")
    page.wait_for_selector(f"table >> text={name}")


def test_a_merge_is_taken_apart_and_put_back(written, looking):
    memory = written.served.tenants.memory("default")
    memory.add_many(sample("trip").trajectory.steps, trajectory="trip")
    merges = {merge.alias: merge.into for merge in memory.inventory("trip").merges}
    labeled = {entry.labels.intent.scope for entry in memory.steps("trip")}
    alias = next(name for name in merges if name in labeled)
    looked = looking(written)
    page = looked.open("#/labels")
    page.click(f'[aria-label="Take {alias} apart from {merges[alias]}"]')
    page.fill("dialog input", "by itself")
    assert looked.violations() == []
    page.click("dialog >> text='Take apart'")
    page.wait_for_selector("table >> text=by itself")
    page.click(".toast >> text=Undo")
    page.wait_for_selector("table >> text=by itself", state="detached")
    assert {entry.labels.intent.scope for entry in memory.steps("trip")} == labeled


def test_a_tree_is_asked_with_completion_edited_and_taken_back(looking, told):
    looked = looking(told)
    page = looked.open("#/trees")
    page.focus("input.path")
    page.keyboard.type("//Me")
    page.wait_for_selector("[role=option] >> text=Meal")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("[@co")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type(" > 30]")
    assert page.input_value("input.path") == "//Meal[@cost > 30]"
    page.keyboard.press("Enter")
    page.wait_for_selector(".evaluation")
    assert "Cantina 32" in page.locator("section[aria-label=Query]").text_content()
    page.focus("[data-node=cantina]")
    page.keyboard.press("Enter")
    page.fill("dialog label:text('cost') + input", "EUR 20")
    page.click("dialog >> text=Commit")
    page.wait_for_selector("del >> text=EUR 35")
    assert looked.violations() == []
    page.click(".toast >> text=Undo")
    page.wait_for_selector(".history >> text=undo of v3")


def test_what_comes_in_appears_by_itself(written, looking):
    looked = looking(written)
    page = looked.open("")
    page.wait_for_selector("text=This memory is empty")
    assert looked.violations() == []
    page.wait_for_selector(".live[data-state=on]")
    written.add("The harbor inn costs $98.")
    page.wait_for_selector(".step-row")
    written.add("<b>It</b> has eleven rooms.")
    page.wait_for_selector(".step-row >> nth=1")
    assert "<b>It</b>" in page.locator(".step-text >> nth=1").text_content()


def test_a_server_that_has_ended_is_told_and_can_be_asked_again(written, looking):
    looked = looking(written)
    page = looked.open("#/ask")
    written.end()
    page.fill("input[name=q]", "anything")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert] >> text=The server cannot be reached.")
    page.wait_for_selector("text=Try again")
    page.wait_for_selector(".live[data-state=off]")
    assert looked.violations() == []
    looked.context.close()
    looked.errors[:] = [each for each in looked.errors if "ERR_CONNECTION_REFUSED" not in each]


def test_a_hostile_memory_runs_nothing(written, looking):
    steps = [{"role": text[:20], "content": text, "id": f"<b>{number}"} for number, text in enumerate(HOSTILE)]
    name = "<script>document.title='broken out'</script>"
    assert written.post("/v1/steps", {"trajectory": name, "steps": steps}).status == 200
    for step in steps[:2]:
        labels = {"scope": HOSTILE[0], "event_types": [HOSTILE[4]], "entity_types": [HOSTILE[1]]}
        assert written.post("/v1/correct", {"trajectory": name, "step": step["id"], "labels": labels}).status == 200
    written.post("/v1/trees", {"tree": name, "value": {"name": HOSTILE[0], "of": [{"name": HOSTILE[1]}]}})
    looked = looking(written)
    for view in (
        "timeline",
        "ask?q=document title",
        "labels",
        "trees",
        "themes",
        "health",
        "timeline?in=x&step=<img src=x>",
    ):
        page = looked.open(f"#/{view}")
        page.reload()
        looked.settle()
        assert "broken" not in page.title()
        assert page.locator("main img, main script, main svg, main b, aside img, aside script").count() == 0
        assert page.locator("a[href^='javascript:']").count() == 0
    page = looked.open("#/timeline")
    page.click(".step-open >> nth=0")
    page.wait_for_selector(".panel .said")
    assert page.locator(".panel .said").first.text_content() == HOSTILE[0]


def test_questions_of_a_finished_run_are_drawn_over_the_scopes_of_their_steps(looking, told, tmp_path):
    trip = sample("trip")
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in trip.trajectory.steps]
    rows: dict[str, list[dict[str, object]]] = {
        "trajectories": [{"id": "trip", "steps": steps}],
        "questions": [
            {"id": str(place), "trajectory": "trip", "question": each.text, "answer": each.answer,
             "evidence": each.evidence, "type": "plain"} for place, each in enumerate(trip.questions)
        ],
    }  # fmt: skip
    for name, lines in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = ["bench", "retrieval", "--data", str(tmp_path), "--methods", "stitch,bm25", "--workers", "1"]
    outcome = CliRunner().invoke(cli, [*asked, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    CliRunner().invoke(cli, ["bench", "report", str(tmp_path / "run"), "--out", str(tmp_path / "report.html")])
    looked = looking(told)
    page = looked.page
    page.goto(f"file://{tmp_path}/report.html")
    page.locator("summary >> nth=0").click()
    page.wait_for_selector(".lanes-name >> text=gold steps")
    names = page.locator(".lanes-name .lanes-label").all_text_contents()
    assert {"found by stitch", "found by bm25", "gold steps"} <= set(names)
    with open_memory(tmp_path / "m") as memory:
        memory.add_many(trip.trajectory.steps, trajectory="trip")
        assert {scope.name for scope in memory.inventory("trip").scopes} <= set(names)
    looked.keep("report")


def test_lanes_in_a_file_are_drawn_and_run_nothing_of_what_they_tell(looking, told, tmp_path):
    lines = [json.dumps({"role": "user", "content": text, "trajectory": HOSTILE[2]}) for text in HOSTILE]
    (tmp_path / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "run.html"
    done = CliRunner().invoke(cli, ["show", str(tmp_path / "run.jsonl"), "--html", str(out)])
    assert done.exit_code == 0, done.output
    looked = looking(told)
    page = looked.page
    page.goto(out.as_uri())
    page.wait_for_selector(".step-row >> nth=4")
    assert page.title() == "Scopes over steps"
    assert page.locator(".step-text").first.text_content() == HOSTILE[0]
    assert page.locator(".lanes-name").count() >= 1
    assert page.locator("main img, main script, main svg").count() == 0
    assert looked.violations() == []


def test_a_key_is_asked_for_and_kept_in_the_tab_alone(looking, tmp_path):
    file, made = KeyFile(tmp_path / "keys.json"), make_key("default", actions=["read"], now=1_000.0)
    file.add(made.key)
    with running(tmp_path / "keyed", keys=file) as client:
        looked = looking(client)
        page = looked.open("")
        page.wait_for_selector("text=This memory asks for a key")
        assert looked.violations() == []
        page.fill("#key", "wrong")
        page.click("text=Open the memory")
        page.wait_for_selector("text=/unknown, revoked or expired/")
        page.fill("#key", made.text)
        page.click("text=Open the memory")
        page.wait_for_selector("text=This memory is empty")
        assert made.text not in page.url
        assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0
        looked.context.close()
        looked.errors[:] = [each for each in looked.errors if "401" not in each]  # the browser tells of each refusal


def test_a_hundred_thousand_steps_are_drawn_with_few_strokes_however_near_they_are_looked_at(looking, told):
    """Strokes are counted, for how long they take is the machine's: a frame of 16 ms has room for tens of thousands."""
    page = looking(told).open("")
    counts = page.evaluate("""async () => {
      const { Lanes } = await import("/page/lanes.js");
      const scopes = Array.from({ length: 2000 }, (_, number) => ({ name: `scope ${number}`, steps: 0, spans: [] }));
      for (let place = 0, number = 0; place < 100000; number += 1) {
        const length = 1 + (number * 7) % 9, scope = scopes[Math.floor(place / 200) * 4 % 2000 + number % 4];
        scope.spans.push([place, Math.min(99999, place + length - 1)]);
        scope.steps += length;
        place += length;
      }
      let strokes = 0;
      const drawing = CanvasRenderingContext2D.prototype;
      for (const name of ["fill", "stroke", "fillRect", "strokeRect", "fillText"]) {
        const own = drawing[name];
        drawing[name] = function (...given) { strokes += 1; return own.apply(this, given); };
      }
      document.querySelector("main").replaceChildren();
      const lanes = new Lanes();
      document.querySelector("main").append(lanes.element);
      lanes.set({ length: 100000, scopes });
      return [100000, 20000, 2000, 200].map((span) => {
        lanes.show(40000, Math.min(100000, 40000 + span));
        strokes = 0;
        lanes._draw();
        return strokes;
      });
    }""")
    print(f"strokes of a picture: {counts}")
    assert 0 < min(counts) <= max(counts) < 1_000
