"""Lessons from gold on which prompts are optimized, and the marks of replies to them (see `pipelines.optimize`)."""
