"""Episodes, statements and themes: a hierarchy over the steps of a memory, kept in shape as it grows."""

from stitch.themes.projection import ThemeProjection
from stitch.themes.reading import Themes
from stitch.themes.tenants import TenantThemes

__all__ = ["TenantThemes", "ThemeProjection", "Themes"]
