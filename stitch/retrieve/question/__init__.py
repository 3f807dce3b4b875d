"""What is asked: a question as it is read, and the labels that it licenses."""
