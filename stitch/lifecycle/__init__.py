"""What is done with steps that a memory has: corrected, retired, erased, repaired, copied, asked as of a moment."""
