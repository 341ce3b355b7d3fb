"""The command line: subcommands, their arguments, and display of errors."""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from readingtimes.names import nearest
from recency import __version__
from recency.errors import REFUSALS, InputError, warnings_in_lines, with_page
from recency.public import extra_of

BIAS = "form:parameter=value:…, as linear:slopes=0.5 or window:width=5:layers=[0,1]"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are InputErrors, shown in one line like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError for invalid arguments."""
        unknown = re.match("unrecognized arguments: (-[^ =]*)", message)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            raise InputError(f"no option is called {nearest(unknown[1], options)}")
        raise InputError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, 2 for invalid input, 130 when interrupted."""
    argv = list(sys.argv[1:] if argv is None else argv)
    with contextlib.suppress(AttributeError):
        if sys.stdout.isatty():  # Windows' code pages lack characters
            sys.stdout.reconfigure(errors="replace")
        else:  # a table must not lose any
            sys.stdout.reconfigure(encoding="utf-8")
    commands: dict[str, Parser] = {}
    top = _parser(commands)
    named = argv[0] if argv and argv[0] in commands else ""
    try:
        if not argv:
            top.print_help()
            return 0
        if argv[0] == "--version":
            print(f"recency {__version__}")
            return 0
        if not named and not argv[0].startswith("-"):
            raise InputError(f"no command is called {nearest(argv[0], commands)}")
        if not named:
            top.parse_args(argv)
        # Files may precede, separate and follow the options.
        try:
            arguments = vars(commands[named].parse_intermixed_args(argv[1:]))
            with warnings_in_lines():
                _run(named, arguments)
            sys.stdout.flush()
        finally:
            _say_notices(named)
    except BrokenPipeError:  # the reader closed the pipe, such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        way_out = f": pip install 'recency[{extra}]'" if (extra := extra_of(error)) else ""
        print(f"{f'recency {named}'.strip()}: needs {error.name}{way_out}", file=sys.stderr)
        return 2
    except (*REFUSALS, OSError, ImportError) as error:
        print(f"{f'recency {named}'.strip()}: {_line(error)}", file=sys.stderr)
        return 2
    return 0


def _run(name: str, arguments: dict) -> None:
    """Import a subcommand's module and call it."""
    if name == "surprisal":
        from recency.command import surprisal

        surprisal.run(**arguments)
    elif name == "next-words":
        from recency.command import next_words

        next_words.run(**arguments)
    elif name == "lmer":
        from recency.command import lmer

        lmer.run(**arguments)
    elif name == "convert":
        from recency.command import convert

        convert.run(**arguments)
    elif name == "describe":
        from recency.command import describe

        describe.run(**arguments)
    elif name == "verify":
        from recency.command import verify

        verify.run(**arguments)
    elif name == "explore":
        from recency.command import explore_words

        explore_words.run(**arguments)
    else:
        from recency.command import lists

        print("\n".join(getattr(lists, name)(**arguments)))


def _say_notices(name: str) -> None:
    """Name the plugins of other packages that were set aside, which `extensions` lists itself."""
    plugins = sys.modules.get("recency.plugins")
    for line in plugins.notices() if plugins and name != "extensions" else ():
        print(f"recency {name}: {line}", file=sys.stderr)


def _line(error: Exception) -> str:
    """Return an error's message as one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return with_page(error, " ".join(str(error).split()))


def _parser(commands: dict[str, Parser]) -> Parser:
    """Return the parser, and add each subcommand's parser to `commands`."""
    top = Parser(
        prog="recency",
        description="Surprisal of words under any language model, with or without a memory bias, "
        "and mixed models of reading times.",
        epilog="recency COMMAND --help shows a command's options.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="show the version")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, line: str, description: str = "") -> Parser:
        text = f"{line[0].upper()}{line[1:]}. {description}".strip()
        commands[name] = subparsers.add_parser(
            name, help=line, description=text, allow_abbrev=False
        )
        return commands[name]

    _surprisal(command("surprisal", "surprisal of every word of a text", "CSV, one row per word."))
    _next_words(
        command(
            "next-words",
            "the most probable next words after a text",
            "CSV, one row per word: its probability, and its number of tokens.",
        )
    )
    _lmer(command("lmer", "fit a linear mixed model to a table", "The summary has lme4's format."))
    _describe(command("describe", "describe a table of reading times and draft its config entry"))
    _convert(command("convert", "convert a masked LM of fairseq (.pt)"))
    _explore(
        command("explore", "show words, surprisals and reading times on a page for the browser")
    )
    command("biases", "forms of attention bias and their parameters")
    command("extensions", "plugins of each kind, including those of other packages")
    for name, line in (
        ("models", "language models of a study"),
        ("corpora", "reading-time corpora, texts and other data of a study"),
        ("datasets", "reading-time corpora of a study"),
        ("targets", "targets of ./run in a study, with their cost"),
        ("timings", "time of a study by kind of job"),
        ("verify", "follow results back to raw data, and compare each file with its record"),
    ):
        listed = command(name, line, "Within a checkout of the workflow.")
        listed.add_argument(
            "--configfile",
            nargs="+",
            default=[],
            metavar="YAML",
            help="overlays on config.yaml, such as config/open.yaml",
        )
    for name in ("corpora", "datasets"):
        _selecting(commands[name])
    commands["datasets"].add_argument(
        "--markdown", action="store_true", help="as a page of the documentation"
    )
    commands["verify"].add_argument(
        "paths", nargs="*", metavar="PATH", help="results or folders of results (default: all)"
    )
    for name in ("targets", "timings", "verify"):
        commands[name].add_argument(
            "--config",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="single settings, as for ./run",
        )
    _targets(commands["targets"])
    return top


def _selecting(parser: Parser) -> None:
    """Add the options that select corpora."""
    parser.add_argument(
        "--language",
        default="",
        metavar="CODE",
        help="only corpora in this language: ISO 639 code, such as de, or name",
    )
    parser.add_argument(
        "--task",
        default="",
        metavar="TASK",
        help="only reading-time corpora with this task, such as eye_tracking or self_paced",
    )


def _targets(parser: Parser) -> None:
    """Add the options specific to `recency targets`."""
    add = parser.add_argument
    add("--cores", type=_cores, metavar="N", help="number of cores for the times (default: all)")
    add(
        "--all",
        dest="everything",
        action="store_true",
        help="include each check, each export and the internal rules",
    )


def _cores(text: str) -> int | None:
    """Parse a number of cores; None for `all`."""
    return None if text == "all" else int(text)


def _surprisal(parser: Parser) -> None:
    """Add the options of `recency surprisal`, with the defaults of recency.surprisal."""
    add = parser.add_argument
    left_out = argparse.SUPPRESS
    _texts_and_model(parser, "treat every line as a separate text")
    add(
        "--prefix",
        default=left_out,
        metavar="WORDS",
        help="context before every text that is read and has no rows: a question, an instruction",
    )
    add(
        "--units",
        default=left_out,
        metavar="MARK",
        help="score units, which this mark separates in the text, in place of words: | in un|like|ly",
    )
    add(
        "--measure",
        dest="measures",
        default=left_out,
        metavar="NAME,…",
        help="columns in addition to surprisal, such as entropy,renyi_0.5; see recency extensions",
    )
    add(
        "--context",
        default=left_out,
        metavar="N,…",
        help="add surprisal given only the last N words: 1,2,4",
    )
    add(
        "--ngram-lm",
        default=left_out,
        metavar="FILE",
        help="ARPA or KenLM file for ngram_explained and ngram_remainder",
    )
    add(
        "--tuned-lens",
        default=left_out,
        metavar="FILE",
        help="safetensors file with the layers' affine maps, for layer_surprisal",
    )
    add(
        "--lossy",
        default=left_out,
        metavar="ERASURE",
        help="random erasure of context words: FORM:PARAMETER=VALUE:…, such as exponential:half_life=3",
    )
    add(
        "--word-entropy",
        dest="word_entropy",
        default=left_out,
        metavar="METHOD:SETTING=VALUE:…",
        help="settings of word_entropy: sampling:samples=64:seed=1, enumeration:words=FILE, beam:beam=64",
    )
    add(
        "--tokens",
        dest="rows",
        action="store_const",
        const="tokens",
        default=left_out,
        help="one row per token, with its position in the text, instead of one per word",
    )
    add = _windows_and_spaces(parser)
    add("--unit", choices=["bits", "nats", "log10"], default=left_out, help="default: bits")
    add(
        "--first-word",
        choices=["null", "rest"],
        default=left_out,
        help="surprisal of the first word without a begin token: null, or its tokens but the first",
    )
    add("--precision", choices=["fp32", "bf16"], default=left_out, help="of matrix products")
    add(
        "--metric",
        choices=["within_word_l2r", "original"],
        default=left_out,
        help="masked models: context of a token within its word",
    )
    add(
        "--future",
        choices=["seen", "removed", "masked"],
        default=left_out,
        help="masked models: treatment of the words after the scored one",
    )


def _next_words(parser: Parser) -> None:
    """Add the options of `recency next-words`, with the defaults of recency.next_words."""
    _texts_and_model(parser, "treat every line as a separate context")
    parser.add_argument("--n", type=int, default=20, help="number of words (20)")
    parser.add_argument(
        "--word", metavar="WORD", help="instead, the probability of this word after each context"
    )
    parser.add_argument(
        "--tokenizations", type=int, help="of --word: sum over its tokenizations of so many tokens"
    )
    _windows_and_spaces(parser)


def _texts_and_model(parser: Parser, lines: str) -> None:
    """Add texts, a model and the output to a command; `lines` is the help of --lines."""
    add = parser.add_argument
    add("files", nargs="*", metavar="TEXT", help="UTF-8 text; default or -: standard input")
    add(
        "--model",
        required=True,
        help="a folder, a name on the Hub, an n-gram model's ARPA or KenLM file, or small-english, "
        "a small network that comes with the package",
    )
    add("--bias", metavar="BIAS", help=f"bias applied at inference: {BIAS}; see recency biases")
    add("--allow-pickle", action="store_true", help="read pytorch_model.bin (tensors only)")
    add(
        "--weights",
        choices=["float32", "bf16", "int8", "as_stored"],
        default="float32",
        help="precision of the weights (float32); int8 needs torchao",
    )
    add("--lines", action="store_true", help=lines)
    add("--out", default="-", metavar="FILE", help=".csv, .tsv or .parquet; - (default): CSV")


def _windows_and_spaces(parser: Parser) -> Callable:
    """Add the settings of a text's beginning, windows and white space; return the group's `add`."""
    left_out = argparse.SUPPRESS
    settings = parser.add_argument_group("settings", "Explained in docs/surprisal.md.")
    add = settings.add_argument
    add(
        "--bos",
        action=argparse.BooleanOptionalAction,
        default=left_out,
        help="whether each text is preceded by a begin token (default: yes)",
    )
    add("--stride", type=int, default=left_out, help="step between windows of a long text, tokens")
    add(
        "--window",
        type=int,
        default=left_out,
        help="size of the window, tokens (default: the model's)",
    )
    add(
        "--correction",
        choices=["pimentel_meister", "oh_schuler", "pimentel_meister_first"],
        default=left_out,
        help="variant of the correction for white space",
    )
    add(
        "--leading-space",
        action="store_true",
        default=left_out,
        help="add a space before a text's first word",
    )
    return add


def _convert(parser: Parser) -> None:
    """Add the options of `recency convert`."""
    add = parser.add_argument
    add("checkpoint", metavar="FILE.pt", help="checkpoint of a masked LM of fairseq")
    add("--dictionary", required=True, metavar="dict.txt", help="the checkpoint's dictionary")
    add(
        "--tokenizer",
        default="gpt2",
        metavar="GPT2",
        help="GPT-2's tokenizer.json, or a folder or Hub name with it (default: gpt2)",
    )
    add("--out", required=True, metavar="FOLDER", help="folder to write; replaced if it exists")
    add("--allow-pickle", action="store_true", help="read the file (tensors and plain values only)")


def _describe(parser: Parser) -> None:
    """Add the options of `recency describe`."""
    add = parser.add_argument
    add(
        "file",
        metavar="FILE",
        help="CSV, TSV, .xlsx, .rds, .rda, Parquet or Feather, gzipped or not",
    )
    add(
        "--words",
        metavar="FILE",
        help="the words, if they are not in the table: a file, or the name of a dataset",
    )
    add(
        "--out",
        metavar="YAML",
        help="write the dataset's entry to this file; default: all to standard output",
    )


def _explore(parser: Parser) -> None:
    """Add the options of `recency explore`."""
    add = parser.add_argument
    add(
        "words",
        metavar="WORDS",
        help="one row per word: word, optionally item, sentence, position, pos; columns ending in "
        "_bits are surprisals, in _ms mean times. .csv, .tsv or .parquet; - for standard input",
    )
    add("--surprisals", metavar="FILE", help="one column per LM, and optionally word_id")
    add("--times", metavar="FILE", help="one row per observation: word_id, time_ms …")
    add("--title", default="", metavar="TEXT", help="title of the page (default: the file name)")
    add("--out", default="explore.html", metavar="HTML", help="the page (explore.html)")


def _lmer(parser: Parser) -> None:
    """Add the options of `recency lmer`."""
    add = parser.add_argument
    add("data", metavar="DATA", help=".csv, .tsv or .parquet; - for standard input")
    add(
        "formula",
        metavar="FORMULA",
        help='in R\'s syntax, such as "rt ~ length + (1 + length | subject)"',
    )
    add(
        "--engine",
        choices=["auto", "search", "lme4"],
        default="auto",
        help="search needs no R; see docs/mixed_models.md",
    )
    add("--reml", action="store_true", help="restricted maximum likelihood")
    add(
        "--ddf",
        choices=["Satterthwaite", "Kenward-Roger"],
        help="degrees of freedom and p values by this method; Kenward-Roger needs --reml",
    )
    add("--weights", metavar="COLUMN", help="a row's residual variance is divided by its weight")
    add("--offset", metavar="COLUMN", help="added to the linear predictor")
    add(
        "--tables",
        metavar="FOLDER",
        help="also write the whole fit there, as CSV: fit, fixed, covariance, random, correlations, modes",
    )
    add(
        "--out",
        metavar="FILE",
        help="also write the fixed effects: .csv, .tsv or .parquet; -: CSV instead of the summary",
    )
