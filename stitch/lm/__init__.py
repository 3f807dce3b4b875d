"""Language models: how they are called, within which limits, and what the calls cost."""

from stitch.lm.endpoints import Completion
from stitch.lm.ledger import (
    LABELING_STAGES,
    Charge,
    Ledger,
    Price,
    Purpose,
    Totals,
    charged_key,
    charged_to,
    led_by,
    read_ledger,
    sum_up,
)
from stitch.lm.limits import Limits
from stitch.lm.model import CHARS_PER_TOKEN, LanguageModel
from stitch.lm.replies import ReplyKeeper, asking_again, keeping_replies

__all__ = [
    "CHARS_PER_TOKEN", "Charge", "Completion", "LABELING_STAGES", "LanguageModel", "Ledger", "Limits",
    "Price", "Purpose", "ReplyKeeper", "Totals", "asking_again", "charged_key", "charged_to",
    "keeping_replies", "led_by", "read_ledger", "sum_up",
]  # fmt: skip
