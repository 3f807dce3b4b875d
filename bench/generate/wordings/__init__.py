"""Families of wording that share no sentence: the same plan said by other people.

A rule may be fitted on the families in `SEEN` alone; the others tell what it is worth elsewhere.
"""

from stitch.bench.generate.wordings import chat, colloquial, learner, letter, talkative
from stitch.bench.generate.wordings.form import DebateWording, QuestionWording, TravelWording, Wording
from stitch.bench.generate.wordings.plain import PLAIN

WORDINGS = {
    wording.name: wording
    for wording in (PLAIN, talkative.WORDING, chat.WORDING, letter.WORDING, colloquial.WORDING, learner.WORDING)
}
SEEN = ("plain", "talkative")
"""What rules and weights of the library may be fitted on."""
UNSEEN = tuple(name for name in WORDINGS if name not in SEEN)

__all__ = ["PLAIN", "SEEN", "UNSEEN", "WORDINGS", "DebateWording", "QuestionWording", "TravelWording", "Wording"]
