"""Everything that is fitted and shipped, made again: `python -m stitch.bench.fit NAME`."""
