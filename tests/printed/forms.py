"""The forms that a printed line can have, by family of certificates, as regular expressions."""

from __future__ import annotations

from tests.printed.spaces import NUMBER as N

EACH = rf"(?P<each>{N}) a round"
COUNT = r"[\d,]+"

_BOUNDS = {
    "bound": (
        r"(?P<name>\S.*?)\s+(?P<measure>loss|penalised loss|mistakes|loss on mistakes) - "
        rf"(?:(?P<factor>{N}) )?"
        r"(?P<against>L\([uU]\)|loss of any (?:expert|combination|member)) <= "
        rf"(?P<value>{N})"
    ),
    "not applicable": r"(?P<name>\S.*?)\s+not applicable: (?P<reason>.+)",
}

FORMS: dict[str, dict[str, str]] = {
    "linear": {
        "heading": rf"Certificate after (?P<rounds>{COUNT}) rounds, (?P<objective>.+)",
        "loss": rf"learner's (?:penalised )?loss\s+(?P<loss>{N})\s+{EACH}",
        "plain loss": (rf"learner's plain loss\s+(?P<loss>{N})\s+{EACH}, without the penalty"),
        "mistakes": (
            rf"mistakes\s+(?P<count>{COUNT})\s+(?P<share>[\d.]+)%"
            r"(?P<unweighted> of the rounds, not weighted)?"
        ),
        "floor": rf"certified floor\s+(?P<floor>{N})\s+{EACH}",
        "class": (r"(?P<words>every [uU] .*?) lost at least that much(?: by (?P<objective>.+))?"),
        "meaning": r"L\([uU]\): what such a [uU] lost by (?P<objective>.+)",
        "regret": rf"regret at most\s+(?P<regret>{N})\s+{EACH}",
        "assumption": r"assumption: (?P<words>.+)",
        "no statement": r"no statement: (?P<reason>.+)",
        **_BOUNDS,
    },
    "aggregate": {
        "best member": (
            rf"best of its (?:learners|members)\s+(?P<loss>{N})\s+{EACH}, "
            rf"(?:learner|member) (?P<member>{COUNT}) of (?P<members>{COUNT})"
        ),
        "member regret": (
            rf"regret against it\s+(?P<regret>{N})\s+{EACH}, (?P<how>measured|at most)"
        ),
    },
    "dual": {
        "dual": rf"dual value\s+(?P<dual>{N})\s+update (?P<update>\w+), C = (?P<C>{N})",
        "dual floor": (
            rf"every u: (?:loss|sum of (?P<objective>.+)) \+ F\(u\)/C is at least (?P<floor>{N}),?"
        ),
        "regulariser": r"F the regulariser of (?P<mirror>.+)",
        "offsets": r"every u predicts <u, x> \+ the offset that came with the example",
        "fell": rf"fell in round (?P<round>{COUNT}) first: C is too large for such steps",
        "lambda": rf"gain a mistake \(lambda\)\s+(?P<gain>{N})",
        "anchored": r"u is the weights' difference from the optimum of fit",
    },
    "per class": {
        "heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds, sum over (?P<count>{COUNT}) classes "
            r"against the rest: (?P<objective>.+)"
        ),
        "loss": rf"loss, all classes\s+(?P<loss>{N})\s+{EACH}",
        "floor": rf"certified floor\s+(?P<floor>{N})\s+{EACH}",
        "meaning": r"one u a class, each as named below, lost at least that much in sum",
        "regret": rf"regret at most\s+(?P<regret>{N})\s+{EACH}",
        "best heading": (
            rf"Best in hindsight, sum over (?P<count>{COUNT}) classes against the rest: "
            r"(?P<objective>.+): (?P<state>converged|stopped) after "
            rf"(?P<passes>{COUNT}) passes"
        ),
        "objective": rf"objective\s+(?P<objective>{N})",
        "dual": rf"no predictors have less than\s+(?P<dual>{N})",
        "gap": rf"gap\s+(?P<gap>{N})",
    },
    "hindsight": {
        "heading": (
            r"Best in hindsight, (?P<objective>.+): (?P<state>converged|stopped) after "
            rf"(?P<passes>{COUNT}) passes"
        ),
        "objective": rf"objective\s+(?P<objective>{N})",
        "dual": rf"no predictor has less than\s+(?P<dual>{N})",
        "feasible dual": rf"no feasible w has less than\s+(?P<dual>{N})",
        "constraints": (
            rf"constraints, (?P<pull>{COUNT}) of (?P<count>{COUNT}) pull\s+"
            rf"(?:all hold|violated by (?P<violation>{N}))"
        ),
        "gap": rf"gap\s+(?P<gap>{N})",
        "bias": rf"bias\s+(?P<bias>{N})",
        "norm": rf"norm of the weights\s+(?P<norm>{N})",
    },
    "on shards": {
        "verified": r"gap verified\s+by separate code",
        "shards": rf"shards\s+(?P<shards>{COUNT})",
    },
    "mixed": {
        "whose": (
            rf"whose loss: (?P<shards>{COUNT}) shards?, (?:which predicts with its own weights|"
            rf"each predicting with its own weights, mixed every (?P<every>{COUNT}) rows)"
        ),
        "all rows": (
            r"the floor is that of all rows together: at least the sum of the floors of the|"
            rf"(?P<shards>{COUNT}) shards \(before a negative one is raised to 0\), and as a rule|"
            r"looser the more shards there are, since each of them learns fewer rows"
        ),
    },
    "path": {
        "heading": (
            r"Best moving predictor in hindsight, (?:at most (?P<shifts>[\d,]+) shifts?|"
            rf"(?P<price>{N}) for each shift), changing at "
            r"(?P<where>any round|the edges of [\d,]+ cells)"
        ),
        "loss": rf"loss\s+(?P<loss>{N})",
        "priced": rf"loss and price\s+(?P<loss>{N})",
        "floor": rf"no schedule has less \(norms <= (?P<reach>{N})\)\s+(?P<floor>{N})",
        "segment": (rf"rounds (?P<first>{COUNT}) to (?P<last>{COUNT}): norm (?P<norm>{N})"),
    },
    "game": {
        "heading": rf"Certificate after (?P<rounds>{COUNT}) rounds of a convex game",
        "loss": rf"loss of the game\s+(?P<loss>{N})\s+{EACH}",
        "floor": rf"certified floor\s+(?P<floor>{N})\s+{EACH}",
        "class": (r"(?P<words>every [uU] .*?) lost at least that much(?: by the game's losses)?"),
        "meaning": r"L\(u\): what such a u lost by the game's losses",
        "regret": rf"regret at most\s+(?P<regret>{N})\s+{EACH}",
        "assumption": r"assumption: (?P<words>.+)",
        **_BOUNDS,
    },
    "estimated": {
        "estimated heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds on estimated gradients"
        ),
        "cost": rf"cost\s+(?P<cost>{N})\s+{EACH}",
        "about": r"this is about the estimated linear losses <z_t, w>, not about the cost:",
        "unbiased": (
            r"if every z_t is an unbiased estimate of a subgradient, the expected regret|"
            r"is at most the expectation of each bound above; one run shows one value"
        ),
    },
    "experts": {
        "heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds of (?P<algorithm>.+), "
            rf"(?P<experts>{COUNT}) experts"
        ),
        "loss": rf"loss\s+(?P<loss>{N})\s+{EACH}",
        "best": rf"best expert\s+(?P<loss>{N})\s+{EACH}, expert (?P<expert>{COUNT})",
        "regret": rf"regret\s+(?P<regret>{N})\s+{EACH}, (?P<how>measured|at most)",
        "mix": rf"mix loss\s+(?P<loss>{N})\s+loss minus the gaps",
        "combinations": rf"against combinations\s+(?P<regret>{N})\s+at most, proved",
        **_BOUNDS,
    },
    "sleeping": {
        "heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds of specialists, "
            rf"(?P<experts>{COUNT}) experts"
        ),
        "loss": rf"loss\s+(?P<loss>{N})\s+{EACH}",
        "largest": (
            rf"largest regret\s+(?P<regret>{N})\s+against expert (?P<expert>{COUNT}) in its "
            rf"(?P<awake>{COUNT}) waking rounds, measured"
        ),
        "after": rf"after the fact\s+(?P<value>{N})\s+ln d/eta \+ gaps",
        "advance": rf"in advance\s+(?P<value>{N})\s+Freund et al. 1997",
    },
    "surrogate": {
        "heading": rf"Certificate after (?P<rounds>{COUNT}) rounds of the surrogate classifier",
        "mistakes": rf"mistakes\s+(?P<count>{COUNT})",
        "best": rf"best surrogate loss L\(u\)\s+(?P<loss>{N})",
        **_BOUNDS,
    },
    "bandit": {
        "heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds of (?P<algorithm>[^,]+(?:\(.*\))?"
            rf"(?:, \w+\(.*\))?)(?:, (?P<waiting>{COUNT}) decisions still wait)?"
        ),
        "cost": rf"cost(?: of the (?:bandit|policy))?\s+(?P<cost>{N})\s+{EACH}",
        "best": (rf"best arm, estimated\s+(?P<cost>{N})\s+{EACH}, arm (?P<arm>{COUNT})"),
        "even": rf"any arm, estimated\s+(?P<cost>{N}|nan)\s+(?P<each>{N}|nan) a round",
        "none": r"no arm had a chance in every round: none can be estimated",
        "regret": (rf"regret, estimated\s+(?P<regret>{N})\s+{EACH}(?:, against u in (?P<set>.+))?"),
        "floor": rf"floor\s+(?P<floor>{N})\s+{EACH}",
        "chance": (rf"with probability >= 1 - (?P<delta>{N}), in all rounds together,"),
        "floored": r"the costs that any arm had in these rounds sum to at least that",
        "path": (rf"(?P<name>\S.*?)\s+cost - least estimate <= (?P<value>{N}) on this path"),
        "gradient path": (
            r"(?P<name>\S.*?)\s+sum <w_t - u, z_t>(?:, u in (?P<set>.+),)? <= "
            rf"(?P<value>{N}) on this path"
        ),
        "mean": (
            r"(?P<name>\S.*?)\s+cost - cost of an? (?P<rival>arm|u) (?:in .+ )?fixed in advance <= "
            rf"(?P<value>{N}) in expectation"
        ),
        "inside": (
            r"(?P<name>\S.*?)\s+cost - cost of a u fixed in advance in (?P<set>.+) <= "
            rf"(?P<value>{N}) in expectation"
        ),
        "likely": (
            rf"(?P<name>\S.*?)\s+cost - cost of any arm <= (?P<value>{N}) with probability >= "
            rf"1 - (?P<delta>{N}), in all rounds together"
        ),
        "not applicable": r"(?P<name>\S.*?)\s+not applicable: (?P<reason>.+)",
        "regression": r"cost regression, costs in units of their range:",
    },
    "off-policy": {
        "estimate": (
            rf"(?P<method>\S+)\s+(?P<value>{N})\s+\[(?P<low>{N}), (?P<high>{N})\] "
            rf"(?P<level>{N}) (?P<interval>finite-sample|asymptotic), (?P<rows>{COUNT}) rows, "
            rf"worth (?P<worth>{N})"
        ),
        "replay": (
            rf"replay of (?P<rows>{COUNT}) rows: (?P<accepted>{COUNT}) accepted, "
            rf"mean outcome (?P<mean>{N}|nan)"
        ),
        "not a run": (
            rf"not exactly a run of the policy: (?P<least>{N}), the least propensity of this log, "
            r"decided which rows were accepted; give least=, known before the log"
        ),
    },
    "classes": {
        "rule": rf"(?P<rule>SOA|Halving|Consistent) after (?P<rounds>{COUNT}) rounds",
        "mistakes": rf"mistakes\s+(?P<count>{COUNT})",
        "agree": (rf"(?P<left>{COUNT}) of (?P<all>{COUNT}) hypotheses agree with every label"),
        "broken": rf"no hypothesis agrees with every label since round (?P<round>{COUNT})",
        "mistake bound": rf"(?P<name>\S.*?)\s+mistakes <= (?P<value>{COUNT})",
        "regret bound": rf"(?P<name>\S.*?)\s+regret <= (?P<value>{N})",
        "not applicable": r"(?P<name>\S.*?)\s+not applicable: (?P<reason>.+)",
        "agnostic": (
            rf"Agnostic learner after (?P<rounds>{COUNT}) rounds, Littlestone dimension "
            rf"(?P<dimension>{COUNT})"
        ),
        "expected": rf"expected mistakes\s+(?P<loss>{N})",
        "best": rf"mistakes of the best hypothesis\s+(?P<best>{COUNT})",
        "regret": rf"regret\s+(?P<regret>{N})",
        "elimination": (
            rf"Elimination after (?P<rounds>{COUNT}) rounds, points of at most "
            rf"(?P<ones>{COUNT}) ones"
        ),
        "assumption": (
            rf"assumption: the labels are those of a disjunction of at most (?P<k>{COUNT}) "
            r"variables"
        ),
        "ranking": rf"Ranking after (?P<rounds>{COUNT}) clicks",
        "positions": rf"expected positions, summed\s+(?P<loss>{N})",
        "best list": rf"positions in the best list\s+(?P<best>{COUNT})",
        "cover": rf"Cover's adversary, (?P<rounds>{COUNT}) rounds",
        "constant": rf"mistakes of the better constant\s+(?P<best>{COUNT})",
        "forced": rf"forced on every deterministic learner\s+(?P<value>{COUNT})",
        "escape": rf"a randomised learner can stay below\s+(?P<value>{N})",
    },
    "shifting": {
        "heading": (
            rf"Shifting bounds after (?P<rounds>{COUNT}) rounds, (?P<shifts>{COUNT}) shifts? of "
            rf"total size (?P<size>{N}) in the (?P<norm>{N})-norm"
        ),
        "loss": rf"learner's loss\s+(?P<loss>{N})",
        "schedule": rf"loss of the schedule(?:, L\(u\))?\s+(?P<loss>{N})",
        "regret": rf"measured regret\s+(?P<regret>{N})\s+at most",
        "bound": (
            rf"(?P<name>\S.*?)\s+loss - (?:(?P<factor>{N}) )?(?P<against>L\(u\)|.*?schedule.*?) <= "
            rf"(?P<value>{N}), in all (?P<total>{N})"
        ),
        "not applicable": r"(?P<name>\S.*?)\s+not applicable: (?P<reason>.+)",
        "alpha": rf"for this schedule the best alpha is (?P<alpha>{N})",
    },
    "kernel": {
        "space": r"KernelDescent in the space of (?P<kernel>.+)",
        "heading": (
            rf"Certificate after (?P<rounds>{COUNT}) rounds, (?P<objective>.+), "
            rf"(?P<points>{COUNT}) points stored"
        ),
        "loss": rf"learner's loss\s+(?P<loss>{N})\s+{EACH}",
        "floor": rf"certified floor\s+(?P<floor>{N})\s+{EACH}",
        "class": (
            rf"every u in the space of (?P<kernel>.+) with \|\|u\|\| <= (?P<radius>{N}) "
            r"lost at least that much by (?P<objective>.+)"
        ),
        "regret": rf"regret at most\s+(?P<regret>{N})\s+{EACH}",
        "meaning": r"L\(u\): what such a u lost by (?P<objective>.+)",
        "budget": (
            rf"cost of the budget\s+(?P<cost>{N})\s+in the bounds, (?P<dropped>{COUNT}) points "
            r"dropped"
        ),
        **_BOUNDS,
    },
    "drift": {
        "proved": r"Proved: no fixed predictor will do\.",
        "nothing": r"Nothing is proved\.",
        "fixed": (
            rf"On these (?P<rounds>{COUNT}) rounds every fixed predictor with norm <= "
            rf"(?P<radius>{N}) loses at least (?P<floor>{N})(?: by (?P<objective>.+))?,"
        ),
        "tracker": (
            rf"{EACH}; the tracker, inside the same ball, lost at most (?P<loss>{N})"
            rf"(?: < (?P<floor>{N}))?,"
        ),
        "each": rf"{EACH}\.",
        "windows": (
            rf"Windows of (?P<length>{COUNT}) rounds that prove the same of themselves: "
            rf"(?P<proved>{COUNT}) of (?P<windows>{COUNT})\."
        ),
        "window": (
            rf"By most on rounds (?P<first>{COUNT}) to (?P<last>{COUNT}): at least "
            rf"(?P<floor>{N}) a round against (?P<loss>{N})\."
        ),
        "assumed": r"Assumed: (?P<words>.+)\.",
    },
    "learn": {
        "title": r"noregret learn (?P<input>.+)",
        "parts": r"\w+\(.*\), \w+\(.*\), (?:\w+\(.*\)|update \w+, C = .*|\d+ rates mixed, .*)",
        "target": r"target .+",
        "labels": r"(?:labels|classes) .+",
        "floor over": r"floor over (?P<words>every .+?)(?P<own>, the map's own set)?",
        "columns": r"examples\s+loss\s+since last\s+mistakes\s+floor\s+regret ≤",
        "row": (
            rf"(?P<rounds>{COUNT})\s+(?P<loss>{N})\s+(?P<since>{N})\s+(?P<mistakes>[\d.]+)%\s+"
            rf"(?P<floor>{N})\s+(?P<regret>{N})"
        ),
        "progressive": (r"progressive(?:, first pass)?: accuracy (?P<accuracy>[\d.]+)%.*"),
        "repeating": r"repeating the last label: (?P<share>[\d.]+)% mistakes",
        "saved": rf"saved (?:weights|model), (?P<count>{COUNT}) of these examples: accuracy .+",
        "worse": r"much worse than the predictions made on the way: accuracy .+; see .+",
        "no fewer": r"the learner makes no fewer: if the file is sorted, see --shuffle",
        "importance": (
            rf"by importance: (?P<loss>{N}) a unit of weight, certified floor (?P<floor>{N})"
        ),
    },
    "risk": {
        "heading": (
            r"Predictor for new rows: (?P<kind>the average of the|one drawn of the) weights of "
            rf"(?P<rounds>{COUNT}) rounds"
        ),
        "loss": rf"average online loss\s+(?P<loss>{N}), observed",
        "mean": (
            r"in expectation\s+E\[risk of the (?P<who>average|drawn) weights\] (?P<sign><=|=) "
            r"E\[average online loss\], over the rows(?P<draw> and the draw)?"
        ),
        "against": (
            r"against a fixed u\s+E\[risk of the (?P<who>average|drawn) weights\] - risk of u <= "
            rf"(?P<value>{N}), over the rows(?P<draw> and the draw)?, for (?P<words>every u .+)"
        ),
        "likely": (
            r"with a probability\s+(?P<who>risk of the average weights|mean risk of the weights to "
            rf"draw from) <= (?P<value>{N}) with probability >= 1 - (?P<delta>{N}) over the rows"
        ),
        "not applicable": r"(?P<name>\S.*?)\s+not applicable: (?P<reason>.+)",
        "assumption": r"assumption: (?P<words>.+)",
    },
    "certify": {
        "heading": (
            rf"(?P<file>\S+) on (?P<input>\S+): (?P<rounds>{COUNT}) predictions, "
            r"(?P<objective>.+)"
        ),
        "loss": rf"their own loss\s+(?P<loss>{N})\s+{EACH}",
        "metrics": r"accuracy (?P<accuracy>[\d.]+)%.*",
        "no less": (r"no fixed linear predictor lost less than(?: this by (?P<objective>.+))?"),
        "floor": rf"(?P<floor>{N})\s+{EACH}\s+(?P<words>every .+)",
    },
    "compare": {
        "title": r"noregret compare (?P<input>.+)",
        "about": (
            rf"(?P<rounds>{COUNT}) examples, read once; averages a round; (?:each floor is over "
            r"the class of its learner's own size|floors are over .+)"
        ),
        "weighted": r"losses, floors, regrets and metrics count each example by its weight",
        "repeating": r"repeating the last label: (?P<share>[\d.]+)% mistakes",
        "columns": r"learner\s+loss function\s+loss\s+floor\s+regret ≤.*",
        "row": (
            rf"(?P<learner>[a-z][\w/-]*)\t(?P<function>[A-Z]\w+(?:\(.*\))?)\t(?P<loss>{N})\s+"
            rf"(?P<floor>{N})\s+(?P<regret>{N})\s+(?P<accuracy>[\d.]+)%.*"
        ),
    },
    "hindsight command": {
        "input": rf"\S+: (?P<rounds>{COUNT}) examples, (?P<features>{COUNT}) features",
        "a round": rf"a round\s+(?P<each>{N})",
        "columns": r"feature\tweight\tweight × largest \|x\|",
        "feature": (rf"(?P<name>feature \d+|intercept)\t(?P<weight>[+-]{N})\t(?P<effect>[+-]{N})"),
    },
    "drift command": {
        "input": rf"\S+: (?P<rounds>{COUNT}) examples, (?P<objective>.+)",
    },
    "audit": {
        "heading": (rf"noregret audit \S+ on .+, (?:(?P<rounds>{COUNT}) rounds|{COUNT} examples)"),
        "verdict": r"(?P<word>PASS|FAIL|–)\t(?P<statement>[^\t]+)\t(?P<detail>[^\t]+)",
        "false": rf"(?P<count>{COUNT}) of {COUNT} statements are false",
        "true": rf"all (?P<count>{COUNT}) statements that could be checked hold.*",
        "nothing": r"nothing could be checked",
    },
}
