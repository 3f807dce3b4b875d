"""Secrets in what an agent did, replaced before anything is written: texts, steps, labels, JSON."""

from __future__ import annotations

from stitch.ingest.secrets.fields import redact_fields
from stitch.ingest.secrets.redactor import Redactor
from stitch.ingest.secrets.steps import redact_labels, redact_path, redact_step, redact_steps, redact_value
from stitch.ingest.secrets.texts import REDACTED, kinds, redact_text

__all__ = [
    "REDACTED", "Redactor", "kinds", "redact_fields", "redact_labels", "redact_path", "redact_step", "redact_steps",
    "redact_text", "redact_value",
]  # fmt: skip
