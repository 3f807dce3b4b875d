"""The trees of a memory as its user holds them: made, asked, edited, compared, erased, spoken to in words."""
