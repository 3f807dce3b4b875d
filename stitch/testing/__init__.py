"""Doubles for users' tests: a scripted model, a server on this machine, and an embedder that needs no table."""

from __future__ import annotations

from stitch.testing.hashing import HashingEmbedder
from stitch.testing.model import LoopbackProvider, ScriptedCompletion
from stitch.testing.servers import LoopbackServer

__all__ = ["HashingEmbedder", "LoopbackProvider", "LoopbackServer", "ScriptedCompletion"]
