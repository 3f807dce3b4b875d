"""Language without a model: words, sentences, names, values, dates and times."""
