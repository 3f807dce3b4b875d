"""Marks of chat programs in what somebody says: who, where and what is linked, as a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_MARK = re.compile(
    r"<(?:@(?P<person>\w{1,40})(?:\|(?P<called>[^<>|]{1,80}))?"
    r"|#\w{1,40}\|(?P<channel>[^<>|]{1,80})"
    r"|!(?:subteam\^\w{1,40}\|@?)?(?P<all>[\w .-]{1,80})(?:\|[^<>|]{1,80})?"
    r"|(?P<url>(?:https?|mailto|tel):[^<>|\s]{1,4000})(?:\|(?P<words>[^<>|]{1,400}))?)>"
)
"""What Slack writes for a person, a channel, a group and a link; other programs name people so, too."""
_STAMP = re.compile(r"\d{9,11}\.\d{1,6}")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def unmarked(text: str, message: Mapping[str, Any], people: Mapping[str, str]) -> str:
    """A text as a reader sees it: "@Ute" for `<@U7>`, and in Slack's messages links, channels and escapes, too.

    Args:
        text: What a message says.
        message: Its fields. The form of `ts` tells that it is one of Slack, where `<`, `>` and `&` are escaped, so
            that each mark is one.
        people: Names by the ids under which people are named.
    """
    if not isinstance(stamp := message.get("ts"), str) or not _STAMP.fullmatch(stamp):
        if not people:
            return text
        return _MARK.sub(lambda mark: _seen(mark, people) if mark["person"] in people else mark[0], text)
    shown = _MARK.sub(lambda mark: _seen(mark, people), text)
    for written, meant in _ESCAPES:
        shown = shown.replace(written, meant)
    return shown


def _seen(mark: re.Match[str], people: Mapping[str, str]) -> str:
    if mark["person"]:
        return f"@{people.get(mark['person'], mark['called'] or mark['person'])}"
    if mark["url"]:
        url = mark["url"].removeprefix("mailto:").removeprefix("tel:")
        words = mark["words"] or url
        return url if words in url else f"{words} ({url})"
    return f"#{mark['channel']}" if mark["channel"] else f"@{mark['all']}"
