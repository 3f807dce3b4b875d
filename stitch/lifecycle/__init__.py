"""Life of stored steps: correct, retire, erase, repair, copy, ask as of a moment."""
