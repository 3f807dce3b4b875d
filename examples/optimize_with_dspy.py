"""Compiles the prompt that labels: `OPENAI_API_KEY=... python examples/optimize_with_dspy.py days.jsonl out.json`."""

import sys

import dspy

from stitch.bench.training.windows import WindowLessons
from stitch.lm.adapter import ReplyAdapter
from stitch.signatures.programs import WindowProgram


def optimize(data: str, out: str, optimizer: str = "gepa", *, lm: dspy.BaseLM) -> None:
    lessons = WindowLessons(data)
    with dspy.context(lm=lm, adapter=ReplyAdapter()):  # prompts look as they do when a memory labels
        if optimizer == "gepa":
            chosen = dspy.GEPA(metric=lessons.metric, auto="light", reflection_lm=lm)
        else:
            chosen = dspy.MIPROv2(metric=lessons.metric, max_labeled_demos=0)
        chosen.compile(WindowProgram(), trainset=lessons.train, valset=lessons.held_back).save(out)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    optimize(*sys.argv[1:], lm=dspy.LM("openai/gpt-5-mini"))
