"""Links between steps of a run: values superseded later, and results that caused calls."""
