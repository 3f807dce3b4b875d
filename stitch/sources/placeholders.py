"""Lines of chat exports that stand in place of messages: media left out, deleted messages, notices of encryption.

Each program has its own words for these in each language. They are known where they are all of a message; what somebody
writes beside them is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PROGRAM_SIGN = "\u200e"
"""Begins what a phone of Apple writes into an export, and nobody types."""
NOTED = "noted"
"""Field of a message that begins with it."""
PLACEHOLDER = object()
"""In place of a message without words."""

_MEDIA = re.compile(
    r"<[^<>\n]{0,20}\b(?:media|medien|multim[eé]dia|m[ée]dias|mídia|medya|медиафайлов)\b[^<>\n]{0,25}>", re.IGNORECASE
)
_MEDIA_OF_APPLE = re.compile(
    r"(?:contact card|[^\W\d]+) (?:omitted|weggelassen|absente?|omitid[oa]|omess[oa]|ocultad[oa]|weggelaten)"
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|null"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|se eliminó este mensaje|eliminaste este mensaje"
    r"|ce message a été supprimé|vous avez supprimé ce message"
    r"|mensagem apagada|esta mensagem foi apagada|você apagou esta mensagem"
    r"|questo messaggio è stato eliminato|hai eliminato questo messaggio"
    r"|dit bericht is verwijderd|(?:u hebt|je hebt) dit bericht verwijderd)\.?"
)
_ENCRYPTED = re.compile(
    r"\b(?:end-to-end|ende-zu-ende|extremo a extremo|bout en bout|ponta a ponta|ponto a ponto)\b",
    re.IGNORECASE,
)


def noted_by_program(said: str) -> dict[str, bool]:
    """A field for a message that a phone wrote, as it stands in the export; none for one that somebody wrote."""
    return {NOTED: True} if said.lstrip().startswith(_PROGRAM_SIGN) else {}


def says_nothing(message: Mapping[str, Any]) -> bool:
    """Whether a message of an export with times is what the program wrote in place of words."""
    said = message["content"].strip()
    if "timestamp" not in message or not said:
        return False
    by_program = message["role"] == "notice" or NOTED in message
    if by_program and (_ENCRYPTED.search(said) or _MEDIA_OF_APPLE.fullmatch(said.casefold())):
        return True
    return bool(_MEDIA.fullmatch(said) or _DELETED.fullmatch(said.casefold()))
