"""`stitch serve`: one process owns a memory, and everybody reaches it over HTTP."""
