"""Context assembly: trim hits to the token budget."""
