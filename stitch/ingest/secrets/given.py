"""How a value is given behind a name, and the value."""

from __future__ import annotations

import re
from typing import NamedTuple

OF = (
    r"for|of|to|on|at|in|from|with|di|de|del|della|da|do|der|des|dla|für|vom|von|zum|pour|du|para|por|per|voor|van|för|till|til"
    r"|fürs|beim|от|для|к|до|на|do|na|від|од|od|za"
)
IS = (
    r"is\ now|(?:(?:is|was|has\ been)\ )?(?:set|reset|changed|rotated|updated)\ to"
    r"|(?:mudou|passou)\ (?:pra|para)|cambió\ a|è\ cambiata\ in|(?:has\ )?changed\ to|wurde\ (?:auf|in|zu)|est\ devenu"
    r"|zmieniło\ się\ na|сменился\ на|теперь"
    r"|is|was|will\ be|should\ be|as|ist\ jetzt|lautet|laute|ist|war|sei"
    r"|heißt|heisst|lyder|brzmi|zní|c'est|est\ le|est|es|era|foi|sono|è|é|är|er"
    r"|on|jest|je|e|este|luidt|là|adalah|ialah|είναι|это|е|היא|הוא|هي|هو|है"
)
_ADJECTIVES = (
    r"temporal|provisional|inicial|actual|maestra|nueva|temporaire|provisoire|initial|actuel|maître|nouveau"
    r"|temporanea|provvisoria|iniziale|attuale|nuova|temporária|provisória|atual|nova|mestra"
)
"""What Romance languages say of a password behind its name."""
_WRAPPED = (
    r"String(?:::from|\.raw)?|new\ (?:\w{1,20}\.)?\w{0,12}(?:String|Secret|Password|Key|Buffer)|Some|bytes|str"
    r"|(?:\w{1,20}(?:::|\.))?Secret\w{0,8}(?:::new|\.of)?|Buffer\.from|Zeroizing::new|\[\]byte|to_?char_?array"
)
"""Calls that make a text of a literal: `String::from("x")`."""
_AFTER = re.compile(
    rf"""(?:s|en|et|nya|ta|та|ni|[mnt])?(?:[-_ ]?(?:base|prod|production|dev|staging|test|live|wifi|key|value|data
      |id(?:(?<=secret_id)|(?<=secretid))      |[a-z]?\d{{1,2}}))?
    (?:\ (?:{_ADJECTIVES})\b)?
    (?:(?:\ (?:(?:{OF})\b|(?:that\ )?(?:you|we|i|they)\ )[^\n:=?.,;|"`]{{1,60}}?(?:'[^\n']{{1,60}}')?)?
      (?:[*_]{{0,2}}]?["'`]{{0,2}}[])]?["'`]?(?:\ (?:\([^()\n]{{1,20}}\)|\[[\w=]{{1,20}}\]))?[*_]{{0,2}})
      (?: \s{{0,3}}:\s?[|>][+-]?\s{{0,2}}\n\s{{1,20}}(?P<block>)
        | \s?:</(?:b|strong|label|em|i|u|span|font)>:?\s{{0,3}}(?P<marked>)
        | ["'`]?,?\s{{1,20}}-?\s?["'`]?value["'`]?\s{{0,2}}[:=]\s{{0,2}}(?P<pair>)
        | (?:[^"\n:=]{{0,30}}"(?:,\s?"\w{{1,20}}"\s?:\s?"[^"\n]{{0,60}}"){{0,3}})?
          ,?\s{{0,20}}["'`]?(?:value|text|content|keys|default)["'`]?\s{{0,2}}[:=]\s{{0,2}}(?P<json_value>)(?=["'`])
        | "[ ]?\n\n(?P<form>)
        | \s{{0,2}}[:=]?\s?\{{[^{{}}]{{0,80}}?["']?(?:default|value)["']?\s{{0,3}}[:=]\s{{0,2}}(?P<nested>)(?=["'`])
        | [])}}{{;:"'\s]{{0,6}}\s{{0,8}}[.,]?(?:\w{{1,12}}\.)?(?:send_?keys|send_?line|send|fill|type|set_?value
          |press_?sequentially|enter_?text)
          (?:\ --)?[\s(]{{1,2}}(?P<typed>)(?=["'`])
        | :[ \t]{{0,3}}\r?\n{{1,2}}[ \t]{{0,8}}(?P<below>)(?=\S)
        | [ \t\n]{{0,20}}
          (?:(?:\[\w{{0,10}}\][ ]?|AS[ ]\w{{1,12}}[ ])=|=>|:=|->|\+=|\|\|=|\?\?=|::(?=[ ]["'])
            |:[ ]?&?(?:'\w{{1,10}}[ ])?[\w:<>?.]{{1,30}}[ ]=(?=[ ](?:["'`]|\w[\w:.]{{0,30}}\(["']))
            |<-|:[-=](?=[^\s}}]{{1,80}}\}})|:(?!:|[?+][^\s}}]{{0,80}}\}})|=(?!=)|→|—|–)
          [*_]{{0,2}}(?:[ \t]{{0,20}}|\s{{0,3}})(?P<assigned>)
        | \s[-–]{{1,2}}\s(?P<dash>)(?=\S{{4,60}}[ ]{{0,3}}(?:$|\n))
        | (?:\s?\||:?</(?:[\w-]{{0,20}}?(?:key|name)|t[dh]|dt|label|strong|b|span)>:?\s{{0,20}}
          <(?:string|[\w-]{{0,20}}?value|td|dd|code|span|b)[^<>]{{0,40}}>)\s?(?P<cell>)
        | \s?={{2,3}}\s?(?P<equal>)(?=[A-Za-z0-9"'])
        | (?:/[gimsuy]{{0,3}}\)?)?\s{{0,3}},\s{{0,20}}(?P<comma>)(?=["'`])
        | (?:\ [a-z:]{{1,12}}=["'][^"'<>\n]{{0,60}}["']){{0,3}}\s?>\s{{0,20}}(?:<!\[CDATA\[)?(?P<element>)
        | \s{{1,2}}(?:{IS})(?!\w)\s{{0,3}}:?\s{{1,3}}(?:(?:now|today|still|set\ to|changed\ to|heute|jetzt|aktuell
          |aujourd'hui|maintenant|hoy|ahora|oggi|ora|adesso|hoje|agora|teraz|nu|сегодня|сейчас)\s)?(?P<said>)
        | (?:[\u0e00-\u0e7f]{{0,12}}?|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{{0,8}}?)
          \s?(?:は|が|是|为|為|는|은|이|คือ)\s?[:：]?\s?(?P<said_east>)
        | \s{{1,2}}(?:to:?\s|with\s(?=["'`]))(?P<to>)
        | ['’]s\s(?P<short>)
        | [^\n:=?.,;]{{0,40}}?(?:[.!?]\s{{1,2}}|[.!?]?\n)(?:\w{{1,15}}\ )?\w{{1,15}}:\ (?:(?:it's|its|it\ is)\ )?
          (?P<answered>)
        | \?\s{{1,2}}(?:\w{{1,20}}:\s)?(?:(?:it's|its|it\ is|that's|try|use|sure)\b[,:]?\s)?(?P<asked>)
      )
      |[({{]\s?(?P<called>)(?=["'])
      |(?:,?\ [\w'’][\w'’-]{{0,14}}){{1,5}}(?:\s?[:：](?!//)|\s=(?!=)|\ (?:{IS})(?=\s))\s{{0,3}}(?P<far>)
      |[*_]{{0,2}}["'`]{{0,2}}[])]?(?:\ \([^()\n]{{1,20}}\))?[*_]{{0,2}}\s{{1,9}}(?P<space>)
        (?![\s:=|>?{{\[→—–]|(?:{OF}|{IS}|value)\b|[\w:]{{1,12}}=["'])
    )
    (?:<[a-z]{{1,8}}>)?(?:(?:{_WRAPPED})\(\s?(?=["']))?(?:[brufn@]{{1,2}}(?=["']))?
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What stands between a name and its value: more of the name, what it is for, the way the value is given."""
SURE = frozenset({"block", "pair", "json_value", "nested", "typed", "assigned", "marked", "element", "form"})
_CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "‘": "’", "«": "»", "「": "」", "『": "』", "»": "«"}
_BARE = re.compile(
    r"""(?:[^\s"'`,;<>|&，。、；）」]|[,;&](?=[^\s"'`,;<>|&]{1,40})(?!\s?[\w.-]{1,40}=)(?![\w-]{1,30}:))+"""
)
_ELEMENT = re.compile(r"[^<>\r\n]{3,300}")
_PRESSED = re.compile(r"\{(?:enter|return|tab)\}\Z", re.IGNORECASE)
"""A key that is pressed behind what is typed."""
_EAST = re.compile(r"[!-~]+")


class Value(NamedTuple):
    """What stands behind a name, and how it is given: the name of a group of `_AFTER`, `quoted` or not."""

    start: int
    end: int
    text: str
    way: str
    quoted: bool
    plural: bool = False
    """Whether the name is given as several: "passwords: 1200"."""


def read_argument(text: str, end: int) -> Value | None:
    """The argument behind an option, whatever is said behind it: `--password x y: z`; None if none is given."""
    start = end + 1
    return None if text[end:start] != " " else _read(text, end, start, "space")


def read_value(text: str, end: int) -> Value | None:
    """The value that is given behind a name, without what encloses or follows it; None if nothing is given."""
    after = _AFTER.match(text, end)
    return None if after is None else _read(text, end, after.end(), after.lastgroup or "")


def _read(text: str, end: int, start: int, way: str) -> Value | None:
    if way == "block":
        end = _end_of_block(text, start)
        return Value(start, end, text[start:end], way, False)
    if (closing := _CLOSING.get(text[start : start + 1])) is not None:
        close = text.find(closing, start + 1, start + 302)
        if close == start + 1 and text[close + 1 : close + 2].isalnum():  # as in "\"x\"", read without the backslashes
            start, close = close, text.find(closing, close + 1, close + 302)
        if text.startswith(2 * closing, start + 1) and closing in "\"'`":  # three of them, as Python and TOML have
            start, close = start + 2, text.find(3 * closing, start + 3, start + 302)
        if close > 0 and "\n" not in text[start:close]:
            literal = _PRESSED.sub("", text[start + 1 : close])
            return Value(start + 1, start + 1 + len(literal), literal, way, True)
        start += 1
    pattern = _ELEMENT if way == "element" else _EAST if way == "said_east" else _BARE
    bare = pattern.match(text, start, start + 300)
    if bare is None or way == "comma":
        return None
    secret = bare.group().rstrip(")]}.,;、。") if way != "element" else bare.group().strip()
    return Value(start, start + len(secret), secret, way, False, plural=text[end : end + 1] in ("s", "S"))


def _end_of_block(text: str, start: int) -> int:
    """Where the lines end that are indented as far as the first, which begins at `start`."""
    indent = text[text.rfind("\n", 0, start) : start]
    end = text.find("\n", start)
    while end >= 0 and text.startswith(indent, end):
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end
