"""What an object holds, as the garbage collector sees it: for tests that nothing of a text is left in memory."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator

_NO_DATA = (type, types.ModuleType, types.CodeType)


def texts_held_by(thing: object) -> Iterator[str]:
    """All strings and bytes that can be reached from an object, those in what its functions close over included.

    Neither classes and modules nor the globals of functions are looked into. Bytes come as Latin-1.
    """
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        held = waiting.pop()
        if id(held) in seen:
            continue
        seen.add(id(held))
        if isinstance(held, str):
            yield held
        elif isinstance(held, (bytes, bytearray)):
            yield held.decode("latin-1")
        elif isinstance(held, types.FunctionType):
            waiting += [held.__closure__, held.__defaults__, held.__kwdefaults__]
        elif not isinstance(held, _NO_DATA):
            waiting += gc.get_referents(held)
