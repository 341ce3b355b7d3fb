"""The command line: which subcommand with which arguments, and how an error is shown."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from recency import __version__
from recency.errors import InputError
from recency.names import nearest
from recency.public import extra_of

BIAS = "form:parameter=value:…, as linear:slopes=0.5 or window:width=5:layers=[0,1]"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are InputErrors, shown in one line like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments."""
        unknown = re.match("unrecognized arguments: (-[^ =]*)", message)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            raise InputError(f"no option is called {nearest(unknown[1], options)}")
        raise InputError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 0, 2 where input is at fault, 130 when interrupted."""
    argv = list(sys.argv[1:] if argv is None else argv)
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
        # So that files may stand before, between and after the options.
        _run(named, vars(commands[named].parse_intermixed_args(argv[1:])))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has had enough, as `| head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        way_out = f": pip install 'recency[{extra}]'" if (extra := extra_of(error)) else ""
        print(f"{f'recency {named}'.strip()}: needs {error.name}{way_out}", file=sys.stderr)
        return 2
    except (InputError, OSError, ImportError) as error:
        print(f"{f'recency {named}'.strip()}: {_line(error)}", file=sys.stderr)
        return 2
    return 0


def _run(name: str, arguments: dict) -> None:
    """Import a subcommand's module and call it."""
    if name == "surprisal":
        from recency.command import surprisal

        surprisal.run(**arguments)
    elif name == "lmer":
        from recency.command import lmer

        lmer.run(**arguments)
    elif name == "convert":
        from recency.command import convert

        convert.run(**arguments)
    elif name == "describe":
        from recency.command import describe

        describe.run(**arguments)
    elif name == "explore":
        from recency.command import explore_words

        explore_words.run(**arguments)
    else:
        from recency.command import lists

        print("\n".join(getattr(lists, name)(**arguments)))


def _line(error: Exception) -> str:
    """Return an error's message as one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _parser(commands: dict[str, Parser]) -> Parser:
    """Return the parser, and put each subcommand's own into `commands`."""
    top = Parser(
        prog="recency",
        description="Surprisal of words under any language model, with a memory put on it or not, "
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

    _surprisal(command("surprisal", "surprisal of every word of a text", "A row a word, as CSV."))
    _lmer(command("lmer", "a linear mixed model of a table", "Its summary is as lme4 prints it."))
    _describe(
        command("describe", "what a table of reading times holds, and its YAML to begin from")
    )
    _convert(command("convert", "a masked LM of fairseq (.pt) as a folder that opens here"))
    _explore(
        command("explore", "words, surprisals and reading times as a page that a browser opens")
    )
    command("biases", "forms of bias that attention can have, and their parameters")
    command("extensions", "all that is added by a file, or by another package, kind by kind")
    for name, line in (
        ("models", "language models of a study"),
        ("corpora", "reading-time corpora, texts and other data of a study"),
        ("datasets", "reading-time corpora of a study"),
        ("targets", "what ./run can make of a study, and what each target would cost"),
        ("timings", "where the time of a study went, by what its jobs do"),
    ):
        listed = command(name, line, "Within a checkout of the workflow.")
        listed.add_argument(
            "--configfile",
            nargs="+",
            default=[],
            metavar="YAML",
            help="overlays over config.yaml, as config.open.yaml",
        )
    for name in ("corpora", "datasets"):
        _selecting(commands[name])
    commands["datasets"].add_argument(
        "--markdown", action="store_true", help="as a page of the documentation, a table a language"
    )
    for name in ("targets", "timings"):
        commands[name].add_argument(
            "--config",
            nargs="+",
            default=[],
            metavar="KEY=VALUE",
            help="single settings, as ./run's",
        )
    _targets(commands["targets"])
    return top


def _selecting(parser: Parser) -> None:
    """Add the options that select corpora."""
    parser.add_argument(
        "--language",
        default="",
        metavar="CODE",
        help="only corpora in this language: its ISO 639 code, as de, or its name",
    )
    parser.add_argument(
        "--task",
        default="",
        metavar="TASK",
        help="only reading-time corpora of this task, as eye_tracking or self_paced",
    )


def _targets(parser: Parser) -> None:
    """Add the options of `recency targets` that the other lists have not."""
    add = parser.add_argument
    add(
        "--cores", type=_cores, metavar="N", help="cores that times are for (all of this machine's)"
    )
    add(
        "--all",
        dest="everything",
        action="store_true",
        help="each check and export, too, and the internal rules",
    )


def _cores(text: str) -> int | None:
    """Read a number of cores; None for `all`."""
    return None if text == "all" else int(text)


def _surprisal(parser: Parser) -> None:
    """Add the options of `recency surprisal`; those left out have recency.surprisal's defaults."""
    add = parser.add_argument
    left_out = argparse.SUPPRESS
    add("files", nargs="*", metavar="TEXT", help="text in UTF-8; - or none: standard input")
    add(
        "--model",
        required=True,
        help="a folder, a name on the Hub, or an n-gram model's ARPA or KenLM file",
    )
    add("--bias", metavar="BIAS", help=f"put on at inference: {BIAS}; see recency biases")
    add("--allow-pickle", action="store_true", help="read pytorch_model.bin, for tensors alone")
    add(
        "--weights",
        choices=["float32", "bf16", "int8", "as_stored"],
        default="float32",
        help="precision of the weights (float32); int8 needs torchao",
    )
    add("--lines", action="store_true", help="every line is a text of its own")
    add("--out", default="-", metavar="FILE", help=".csv, .tsv or .parquet; - (default): CSV")
    add(
        "--measure",
        dest="measures",
        default=left_out,
        metavar="NAME,…",
        help="columns in addition to surprisal, as entropy,renyi_0.5: recency extensions lists them",
    )
    add(
        "--context",
        default=left_out,
        metavar="N,…",
        help="surprisal given the last N words alone, too: 1,2,4",
    )
    add(
        "--ngram-lm",
        default=left_out,
        metavar="FILE",
        help="of ngram_explained and ngram_remainder: an ARPA or KenLM file",
    )
    add(
        "--tuned-lens",
        default=left_out,
        metavar="FILE",
        help="of layer_surprisal: the layers' affine maps, safetensors",
    )
    add(
        "--lossy",
        default=left_out,
        metavar="ERASURE",
        help="words of context erased at random: FORM:PARAMETER=VALUE:…, as exponential:half_life=3",
    )
    add(
        "--word-entropy",
        dest="word_entropy",
        default=left_out,
        metavar="METHOD:SETTING=VALUE:…",
        help="of the measure word_entropy: sampling:samples=64:seed=1, enumeration:words=FILE, beam:beam=64",
    )
    add(
        "--tokens",
        dest="rows",
        action="store_const",
        const="tokens",
        default=left_out,
        help="a row a token, with its characters in the text, instead of a row a word",
    )
    settings = parser.add_argument_group("settings", "Explained in docs/surprisal.md.")
    add = settings.add_argument
    add(
        "--bos",
        action=argparse.BooleanOptionalAction,
        default=left_out,
        help="whether a begin token stands before each text (it does)",
    )
    add("--unit", choices=["bits", "nats", "log10"], default=left_out, help="default: bits")
    add("--stride", type=int, default=left_out, help="tokens a further window adds to a long text")
    add("--window", type=int, default=left_out, help="tokens of a window (the model's own)")
    add(
        "--correction",
        choices=["pimentel_meister", "oh_schuler", "pimentel_meister_first"],
        default=left_out,
        help="variant of the correction for white space",
    )
    add(
        "--first-word",
        choices=["null", "rest"],
        default=left_out,
        help="without a begin token: no surprisal, or that of its tokens but the first",
    )
    add(
        "--leading-space",
        action="store_true",
        default=left_out,
        help="write a text's first word with a space before it",
    )
    add("--precision", choices=["fp32", "bf16"], default=left_out, help="of matrix products")
    add(
        "--metric",
        choices=["within_word_l2r", "original"],
        default=left_out,
        help="masked models: what a token sees of its word",
    )
    add(
        "--future",
        choices=["seen", "removed", "masked"],
        default=left_out,
        help="masked models: what comes after the word",
    )


def _convert(parser: Parser) -> None:
    """Add the options of `recency convert`."""
    add = parser.add_argument
    add("checkpoint", metavar="FILE.pt", help="of a masked LM of fairseq")
    add(
        "--dictionary", required=True, metavar="dict.txt", help="the dictionary it was trained with"
    )
    add(
        "--tokenizer",
        default="gpt2",
        metavar="GPT2",
        help="GPT-2's tokenizer.json, or a folder or Hub name with it (default: gpt2)",
    )
    add("--out", required=True, metavar="FOLDER", help="is written, or written over")
    add(
        "--allow-pickle",
        action="store_true",
        help="read the file, for tensors and plain values alone",
    )


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
        help="where the words are, if not there: a file, or a dataset's name",
    )
    add(
        "--out",
        metavar="YAML",
        help="write the dataset's entry there; default: all to standard output",
    )


def _explore(parser: Parser) -> None:
    """Add the options of `recency explore`."""
    add = parser.add_argument
    add(
        "words",
        metavar="WORDS",
        help="a row for each word: word, perhaps item, sentence, position, pos; columns that end in "
        "_bits are surprisals, in _ms mean times. .csv, .tsv or .parquet; - for standard input",
    )
    add("--surprisals", metavar="FILE", help="a column for each LM, and perhaps word_id")
    add("--times", metavar="FILE", help="a row for each observation: word_id, time_ms …")
    add("--title", default="", metavar="TEXT", help="of the page; the file's name unless given")
    add("--out", default="explore.html", metavar="HTML", help="the page (explore.html)")


def _lmer(parser: Parser) -> None:
    """Add the options of `recency lmer`."""
    add = parser.add_argument
    add("data", metavar="DATA", help=".csv, .tsv or .parquet; - for standard input")
    add("formula", metavar="FORMULA", help='R\'s, as "rt ~ length + (1 + length | subject)"')
    add(
        "--engine",
        choices=["auto", "search", "lme4"],
        default="auto",
        help="search needs no R; see docs/mixed_models.md",
    )
    add("--reml", action="store_true", help="restricted maximum likelihood (lme4)")
    add(
        "--out",
        metavar="FILE",
        help="write the fixed effects, too: .csv, .tsv or .parquet; -: as CSV instead of the summary",
    )
