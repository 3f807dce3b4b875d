"""Making the table of the static embedder: texts from public packages, a teacher, a fit."""
