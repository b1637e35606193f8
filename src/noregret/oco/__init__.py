"""The general online convex game on dense vectors, with the certificates of the streams.

>>> import noregret as nr
>>> from noregret import oco
>>> game = oco.Game(3, nr.mirrors.Entropy(), nr.rates.Constant(0.5))
>>> proof = oco.run(game, [oco.Linear([0.5, 0.0, 1.0]), oco.Linear([1.0, 0.25, 0.0])])
>>> proof.floor() <= 0.25 <= proof.loss
True
"""

from noregret.oco.doubling import DoublingTrick, doubling
from noregret.oco.game import Game, Player, run
from noregret.oco.game_certificate import GameCertificate
from noregret.oco.leaders import FollowTheLeader, FollowTheRegularizedLeader
from noregret.oco.losses import ConvexFunction, FromFunctions, Linear, Quadratic
from noregret.oco.setting import Tuned, divergence, implicit_step, step, tuned

__all__ = [
    "ConvexFunction",
    "DoublingTrick",
    "FollowTheLeader",
    "FollowTheRegularizedLeader",
    "FromFunctions",
    "Game",
    "GameCertificate",
    "Linear",
    "Player",
    "Quadratic",
    "Tuned",
    "divergence",
    "doubling",
    "implicit_step",
    "run",
    "step",
    "tuned",
]
