"""What ties steps of a run to others: values that were told otherwise later, and what a result made the agent do."""
