"""What went wrong, in one line that names options as the command line spells them."""

from __future__ import annotations

import click

from noregret.arguments import ArgumentError, meant
from noregret.cli.options import LISTS, OPTIONS, flag_of, options_of

#: What to take in the place of options of Vowpal Wabbit.
_ELSEWHERE = {
    "--noconstant": "`--intercept 0`",
    "--oaa": "`--multiclass`, for as many classes as appear",
    "--probabilities": "`predict --as probability`",
    "--loss_function": "`--loss`",
    "--quantile_tau": "`--loss quantile:TAU`",
    "--link": "`predict --as probability`",
    "--binary": "`predict --as label`",
    "-f": "`--save MODEL`; the format of the input is `--format`",
    "--final_regressor": "`--save MODEL`",
    "-i": "`learn --resume MODEL`, or `predict MODEL FILE`",
    "--initial_regressor": "`learn --resume MODEL`, or `predict MODEL FILE`",
    "-t": "`noregret predict MODEL FILE`",
    "--testonly": "`noregret predict MODEL FILE`",
    "-r": "`noregret predict MODEL FILE`, which writes margins",
    "--raw_predictions": "`noregret predict MODEL FILE`, which writes margins",
    "-d": "the name of the file alone",
    "--data": "the name of the file alone",
    "-c": "no cache: `--passes` reads files again, faster after `noregret convert`",
    "--cache": "no cache: `--passes` reads files again, faster after `noregret convert`",
    "--cache_file": "`noregret convert FILE -o FILE.arrow`",
    "--bit_precision": "`--bits`",
    "--quadratic": "`--interactions`, `-q`",
    "--cubic": "`--interactions`, `-q`",
    "--learning_rate": "`--eta`, of a --rate that has one",
    "--power_t": "`--rate inverse-sqrt` for 0.5, `--rate constant` for 0",
    "--sgd": "`--rate inverse-sqrt`",
    "--adaptive": "`--rate per-coordinate`",
    "--coin": "`--rate coin-betting`",
    "--bfgs": "`noregret hindsight`",
    "--l1": "`--mirror soft-threshold:L1`",
    "--l2": "`--rate strongly-convex --eta SIGMA`, or `noregret hindsight --l2`",
    "--regularization": "`--rate strongly-convex --eta SIGMA`, or `noregret hindsight --l2`",
    "--holdout_period": "`--holdout K`",
    "--holdout_off": "the default: only `--holdout` holds examples out",
    "--invert_hash": "`noregret inspect MODEL FILE`",
    "--readable_model": "`noregret inspect MODEL FILE`",
    "-a": "`noregret inspect MODEL FILE`",
    "--random_seed": "`--shuffle SEED` or `--holdout-seed SEED`",
    "--hash": "`hash=` of nr.read in Python",
    "--cb": "`nr.bandits` in Python",
    "--cb_adf": "`nr.bandits` in Python",
    "--cb_explore": "`nr.bandits.ContextualBandit` in Python",
    "--cb_explore_adf": "`nr.bandits.ArmFeatureBandit` in Python",
}


def one_line(error: Exception, command: str) -> str:
    """Return what an error says, with options in the place of arguments, and where to look."""
    text, argument = str(error), getattr(error, "argument", "")
    about = ("labels", "multiclass", "loss") if argument == "labels" else (argument,)
    see = ", ".join(one.flag for one in options_of(command) if one.name in about)
    if isinstance(error, click.UsageError):
        text = _usage(error, command)
    elif isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, ArgumentError):
        found = f"{error.found:g}" if isinstance(error.found, float) else error.found or ""
        place = f"{flag_of(command, argument)} {found}".rstrip()
        text = error.said(place, f"noregret list {LISTS.get(error.kind)}")
    elif see and text.startswith(f"{argument}="):
        # The library names its keyword with the value, as in bits=99.
        text = f"{see} {text.partition('=')[2]}"
    elif see:
        text = f"{text}; see {see}"
    return " ".join(text.split())


def _usage(error: click.UsageError, command: str) -> str:
    known = [one.flag.lstrip("-") for one in options_of(command)]
    complaint = error.format_message().rstrip(".")
    name, ctx = getattr(getattr(error, "param", None), "name", ""), error.ctx
    if ctx and ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT_MAP:
        complaint = f"{ctx.params['config']}: {complaint}"
    if isinstance(error, click.NoSuchOption):
        option = error.option_name
        elsewhere = [one.commands for one in OPTIONS if option in one.spellings]
        if option in _ELSEWHERE:
            hint = f"; coming from Vowpal Wabbit, take {_ELSEWHERE[option]}"
        elif elsewhere:
            hint = f", which belongs to {elsewhere[0].replace(' ', ', ')}"
        else:
            hint = meant(option.lstrip("-"), known).replace("mean ", "mean --")
        complaint = f"No such option: {option}{hint}"
    return f"{complaint}; see {f'noregret {command}' if known else 'noregret'} --help"
