"""Labels by a language model (§2.2): several steps in one call, or step by step as in the paper."""
