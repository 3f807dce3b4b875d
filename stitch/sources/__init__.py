"""Sources of steps: files and standard input, in the formats in which trajectories are written down."""

from stitch.sources.files import FileSource, FolderSource, StandardInput
from stitch.sources.following import FollowedFile
from stitch.sources.formats import FORMATS
from stitch.sources.lines import READ_AS
from stitch.sources.naming import FILES_FILE, FileNames
from stitch.sources.paths import expand_paths, left_out
from stitch.sources.positions import FOLLOWED_FILE, UNFINISHED_FILE, Positions
from stitch.sources.recognizing import Format
from stitch.sources.records import not_read

__all__ = [
    "FILES_FILE", "FOLLOWED_FILE", "FORMATS", "READ_AS", "UNFINISHED_FILE", "FileNames", "FileSource", "FolderSource",
    "FollowedFile", "Format", "Positions", "StandardInput", "expand_paths", "left_out",
    "not_read",
]  # fmt: skip
