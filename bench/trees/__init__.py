"""Trees with requests, gold path queries and gold nodes: `stitch bench trees`, and the fit of the scorers."""
