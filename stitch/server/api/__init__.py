"""What can be asked of a memory from outside, defined once: requests, responses, and what answers them."""
