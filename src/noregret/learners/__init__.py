"""What a user holds: learners that predict, learn, certify themselves, are saved and resumed."""

from noregret.learners.dual_ascent import DualAscent
from noregret.learners.mirror_descent import MirrorDescent, load, load_with_extra

__all__ = ["DualAscent", "MirrorDescent", "load", "load_with_extra"]
