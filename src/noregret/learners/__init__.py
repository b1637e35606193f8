"""What a user holds: learners that predict, learn, certify themselves, are saved and resumed."""

from noregret.learners.mirror_descent import MirrorDescent, load

__all__ = ["MirrorDescent", "load"]
