"""What of the hits a prompt has room for."""
