"""The named algorithms of the papers: compositions of loss, map, rate and pass.

Each returns a fresh `MirrorDescent`, `MatrixDescent` or `DualAscent`, whose certificate prints its
theorems. `bregman_step` makes one step, `online_to_batch` turns a run into one predictor. With the
same C, no intercept and the same order of rows, the Passive-Aggressive algorithms have the weights
of scikit-learn's classes of that name.
"""

from __future__ import annotations

from noregret.catalogue.descent import (
    balanced_winnow,
    coin_betting,
    eg,
    lazy_ogd,
    ogd,
    p_norm,
    perceptron,
    projected_ogd,
    signed_eg,
    simplex_winnow,
    strongly_convex_ogd,
    unnormalized_eg,
    winnow,
)
from noregret.catalogue.multiclass import (
    multiclass_ogd,
    multiclass_passive_aggressive,
    multiclass_perceptron,
    one_against_rest,
    softmax_regression,
)
from noregret.catalogue.passive_aggressive import (
    BregmanStep,
    bregman_step,
    passive_aggressive,
    passive_aggressive_2,
    passive_aggressive_regression,
    passive_aggressive_regression_2,
)
from noregret.catalogue.risk import (
    BatchPredictor,
    RiskStatement,
    batch_predictor,
    online_to_batch,
)
from noregret.catalogue.second_order import (
    aioli,
    arow,
    block_leader,
    certified_newton,
    implicit_newton,
    kalman,
    online_ridge,
    softmax_leader,
    softmax_newton,
    vovk_azoury_warmuth,
)
from noregret.catalogue.trackers import (
    c_eg,
    c_egu,
    c_gd,
    egu,
    gd,
    shifting_p_norm,
    signed_c_eg,
)

__all__ = [
    "BatchPredictor",
    "BregmanStep",
    "RiskStatement",
    "aioli",
    "arow",
    "balanced_winnow",
    "batch_predictor",
    "block_leader",
    "bregman_step",
    "c_eg",
    "c_egu",
    "c_gd",
    "certified_newton",
    "coin_betting",
    "eg",
    "egu",
    "gd",
    "implicit_newton",
    "kalman",
    "lazy_ogd",
    "multiclass_ogd",
    "multiclass_passive_aggressive",
    "multiclass_perceptron",
    "ogd",
    "one_against_rest",
    "online_ridge",
    "online_to_batch",
    "p_norm",
    "passive_aggressive",
    "passive_aggressive_2",
    "passive_aggressive_regression",
    "passive_aggressive_regression_2",
    "perceptron",
    "projected_ogd",
    "shifting_p_norm",
    "signed_c_eg",
    "signed_eg",
    "simplex_winnow",
    "softmax_leader",
    "softmax_newton",
    "softmax_regression",
    "strongly_convex_ogd",
    "unnormalized_eg",
    "vovk_azoury_warmuth",
    "winnow",
]
