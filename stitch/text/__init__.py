"""Language without a model: words, sentences, forms, names, numbers, values, dates and times."""
