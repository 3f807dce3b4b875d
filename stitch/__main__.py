"""`python -m stitch`: the command."""

from stitch.cli import main

main()
