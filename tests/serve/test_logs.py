"""The log of a server tells what went wrong, and nothing of what tenants say."""

import logging
import sys

from stitch.serve.logs import WithoutText


def lines_of(tell, name="stitch.ingest.labeling"):
    """What is shown of what somebody logs."""
    shown = []

    class Kept(logging.Handler):
        def emit(self, record):
            shown.append(self.format(record))

    handler, logger = Kept(), logging.getLogger(name)
    handler.setFormatter(WithoutText())
    logger.addHandler(handler)
    try:
        tell(logger)
    finally:
        logger.removeHandler(handler)
    return shown


def test_of_an_error_that_nobody_expected_its_kind_and_its_place_are_shown():
    def tell(logger):
        try:
            int("swordfish")
        except ValueError:
            logger.exception("a request failed")

    [line] = lines_of(tell, name="stitch.serve.refusals")
    assert line.startswith("stitch: a request failed: ValueError\n")
    assert __name__.split(".")[-1] in line
    assert "invalid literal" not in line
    assert sys.exc_info() == (None, None, None)
