"""Pages about what a run lost and what is proved about it, with the pictures of `nr.plot`."""

from noregret.report.page import Card, page
from noregret.report.pictures import Picture, pictures

__all__ = ["Card", "Picture", "page", "pictures"]
