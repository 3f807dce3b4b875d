"""The page at `/`: static files that ask the REST API, as any client does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from starlette.types import Scope

FOLDER = Path(__file__).with_name("web")
FILES_PATH = "/page"
POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The content security policy of the page: it loads and runs nothing but the files beside it."""
_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}


class PageFiles(StaticFiles):
    """The scripts, styles and pictures of the page."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def page_response() -> Response:
    """The page itself, which tells nothing of a memory until its script has asked."""
    return FileResponse(FOLDER / "index.html", headers=_HEADERS)
