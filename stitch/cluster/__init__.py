"""Several machines, one memory: workers that label what any process accepted."""
