"""Expert advice: learners that do nearly as well as the best of many, and portfolios.

>>> from noregret import experts
>>> learner = experts.Hedge(3, eta="anytime")
>>> learner.suffer([0.0, 0.5, 1.0])
0.5
>>> learner.certificate().best_expert
0
"""

from noregret.experts.aggregate import Aggregate
from noregret.experts.aggregate_certificate import AggregateCertificate
from noregret.experts.expert_certificate import ExpertCertificate
from noregret.experts.forecaster import Forecaster, exp_concavity
from noregret.experts.grids import rate_grid
from noregret.experts.hedge import Hedge, draw, weighted_majority
from noregret.experts.mixture import Mixture
from noregret.experts.oracles import (
    Combination,
    Sequences,
    best_combination,
    best_expert,
    best_sequence,
)
from noregret.experts.portfolios import (
    NewtonStep,
    best_rebalanced,
    best_stock,
    buy_and_hold,
    online_newton,
    portfolio_eg,
    rebalanced,
    universal_pair,
)
from noregret.experts.probabilities import ProbabilityForecaster
from noregret.experts.score_aggregate import ScoreAggregate
from noregret.experts.score_probabilities import ScoreForecaster
from noregret.experts.shares import ShareCertificate, Shares
from noregret.experts.sleeping import SleepingCertificate, Specialists
from noregret.experts.surrogate import SurrogateClassifier

__all__ = [
    "Aggregate",
    "AggregateCertificate",
    "Combination",
    "ExpertCertificate",
    "Forecaster",
    "Hedge",
    "Mixture",
    "NewtonStep",
    "ProbabilityForecaster",
    "ScoreAggregate",
    "ScoreForecaster",
    "Sequences",
    "ShareCertificate",
    "Shares",
    "SleepingCertificate",
    "Specialists",
    "SurrogateClassifier",
    "best_combination",
    "best_expert",
    "best_rebalanced",
    "best_sequence",
    "best_stock",
    "buy_and_hold",
    "draw",
    "exp_concavity",
    "online_newton",
    "portfolio_eg",
    "rate_grid",
    "rebalanced",
    "universal_pair",
    "weighted_majority",
]
