"""Bandits: learning from the costs of the arms drawn alone.

>>> from noregret import bandits
>>> bandit = bandits.Exp3(arms=10, horizon=1000, seed=1)
>>> decision = bandit.decide()
>>> bandit.learn(decision.id, cost=0.3)
>>> bandit.certificate().rounds
1
"""

from noregret.bandits.bandit_certificate import BanditCertificate
from noregret.bandits.contextual import (
    ArmFeatureBandit,
    ArmFeatureCertificate,
    ContextualBandit,
    ContextualCertificate,
)
from noregret.bandits.decisions import Decision, Log
from noregret.bandits.estimated import EstimatedCertificate, EstimatedGame
from noregret.bandits.exp3 import Exp3, Exp3IX
from noregret.bandits.exploration import EpsilonGreedy, Exploration, InverseGap
from noregret.bandits.gradient import GradientBandit, GradientCertificate
from noregret.bandits.offpolicy import Estimate, Replay, doubly_robust, ips, replay, snips
from noregret.bandits.policy import Decisions
from noregret.bandits.tsallis import TsallisINF
from noregret.proof.statement import Statement

__all__ = [
    "ArmFeatureBandit",
    "ArmFeatureCertificate",
    "BanditCertificate",
    "ContextualBandit",
    "ContextualCertificate",
    "Decision",
    "Decisions",
    "EpsilonGreedy",
    "Estimate",
    "EstimatedCertificate",
    "EstimatedGame",
    "Exp3",
    "Exp3IX",
    "Exploration",
    "GradientBandit",
    "GradientCertificate",
    "InverseGap",
    "Log",
    "Replay",
    "Statement",
    "TsallisINF",
    "doubly_robust",
    "ips",
    "replay",
    "snips",
]
