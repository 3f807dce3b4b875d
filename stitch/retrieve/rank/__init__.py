"""How hits are scored and ordered."""
