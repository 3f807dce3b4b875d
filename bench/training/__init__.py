"""What prompts are optimized on: lessons from gold, and how a reply to one is marked (see `pipelines.optimize`)."""
