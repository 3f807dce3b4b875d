"""Where steps come from: files and standard input, in the formats in which trajectories are written down."""

from stitch.sources.files import FileSource, expand_paths, left_out
from stitch.sources.following import FollowedFile
from stitch.sources.formats import FORMATS
from stitch.sources.recognizing import Format

__all__ = ["FORMATS", "FileSource", "FollowedFile", "Format", "expand_paths", "left_out"]
