"""Configs with faults drawn at random, and what becomes of them.

.venv/bin/python tests/mutated_configs.py 10000 [SEED]: mutates so many, prints how many are accepted, what
raised anything but InputError, and lines of 300 signs and more.
"""

import collections
import copy
import math
import random
import sys
import traceback
from pathlib import Path

from recency.errors import InputError
from recency.workflow.config import checks, loading

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "config.schema.yaml"
STUDIES = [
    (),
    ("config/demo.yaml",),
    ("config/open.yaml",),
    ("config/demo.yaml", "tests/config.tiny.yaml"),
]
NUMBERS = [-1, 0, 1, 2, 3, 7, 1000, 10**6, 10**12, 10**40, -0.5, 0.1, 1.5, 1e300, math.nan]
NUMBERS += [math.inf, -math.inf, True]
TEXTS = ["", " ", "x", "None", "nan", "1e-3", "../../etc/passwd", "a b", "{x}", "<results>/x"]
TEXTS += ["a\0b", "é" * 5, "x" * 3000, "~", "time_ms.__class__", "a | b", "log(", "%s", "\ud800"]
VALUES = [None, [], {}, [[]], {"a": 1}, ["a", "a"], [None], 3, "text", True, {1: 2}, {"": ""}]


def places(value, path=()):
    """Yield the path of every value of a config."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


def chosen(config, draw):
    """Return a path: of a top-level key first, so that large tables are not all that is changed."""
    top = draw.choice(list(config))
    child = config[top]
    inner = list(places(child, (top,))) if isinstance(child, dict | list) else []
    return draw.choice(inner) if inner and draw.random() < 0.95 else (top,)


def misspelled(name, draw):
    """Return a name with a letter dropped, doubled or moved."""
    at = draw.randrange(len(name)) if name else 0
    way = draw.randrange(3)
    if way == 0:
        return name[:at] + name[at + 1 :]
    if way == 1:
        return name[: at + 1] + name[at:]
    return name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]


def other(value, strings, draw):
    """Return a value that stands in another's place."""
    if draw.random() < 0.15:
        return copy.deepcopy(draw.choice(VALUES))
    if isinstance(value, bool):
        return draw.choice([not value, str(value), int(value)])
    if isinstance(value, int | float):
        made = draw.choice([*NUMBERS, -value, float(value), str(value), value + 1, value * 2])
        return made
    if isinstance(value, str):
        return draw.choice([draw.choice(TEXTS), misspelled(value, draw), draw.choice(strings)])
    if isinstance(value, list):
        way = draw.randrange(5)
        if way == 0 or not value:
            return []
        if way == 1:
            return [*value, copy.deepcopy(value[0])]
        if way == 2:
            return value[:-1]
        if way == 3:
            return dict.fromkeys(map(str, value), 1)
        return value[::-1]
    return draw.choice([None, [], {}, "text", 3]) if draw.random() < 0.5 else {}


def mutate(config, draw):
    """Change one thing of a config, in place; return what was done."""
    path = chosen(config, draw)
    inner = config
    for key in path[:-1]:
        inner = inner[key]
    key, way = path[-1], draw.random()
    place = " → ".join(map(str, path))
    if isinstance(inner, dict) and way < 0.12:
        new = misspelled(str(key), draw)
        inner[new] = inner.pop(key)
        return f"{place} renamed {new!r}"
    if way < 0.24:
        del inner[key]
        return f"{place} deleted"
    if isinstance(inner, dict) and way < 0.32:
        inner[f"{key}2"] = copy.deepcopy(inner[key])
        return f"{place} doubled"
    strings = [text for text in walk(config) if isinstance(text, str)]
    inner[key] = other(inner[key], strings, draw)
    return f"{place} = {str(inner[key])[:60]!r}"


def walk(value):
    """Yield every key and single value of a config."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        yield key
        if isinstance(child, dict | list):
            yield from walk(child)
        else:
            yield child


def cases(many, seed=1):
    """Yield configs with one to three faults: what was done, and the config."""
    draw = random.Random(seed)
    sound = [loading.load(ROOT, *names) for names in STUDIES]
    for _ in range(many):
        config = copy.deepcopy(draw.choice(sound))
        done = [mutate(config, draw) for _ in range(draw.choice([1, 1, 1, 2, 3])) if config]
        yield "; ".join(done), config


def outcome(config):
    """Return what a config comes to: its study if it is accepted, or the lines that refuse it."""
    from recency.workflow import lint
    from recency.workflow.engine.faults import ConfigError
    from recency.workflow.plan import plan_checks, products
    from recency.workflow.plan.study import Study

    try:
        if isinstance(config.get("lms"), dict) and len(config["lms"]) % 2:
            loading.complete(config, ROOT)  # of some, since it puts corpora back
        checks.check(config, SCHEMA)
        study = Study(config, ROOT, [], True)
        study.for_report()
        if problems := plan_checks.problems(study):
            raise InputError(checks.listed(problems))
        for name in config["experiments"]:
            products.outputs(study, name)
        products.of_run(study)
        _ = study.files.described
        if failed := [line for line in study.listed_doubts["warnings"] if lint.FAILED in line]:
            raise AssertionError(failed)
    except (InputError, ConfigError) as error:
        return None, str(error).splitlines()
    return study, []


def main(many, seed):
    """Print what becomes of so many configs."""
    accepted, found = [], collections.Counter()
    for done, config in cases(many, seed):
        try:
            study, lines = outcome(config)
        except Exception:  # noqa: BLE001, whatever it is was not meant to be raised
            found["raised"] += 1
            print(f"RAISED {done}\n{traceback.format_exc(limit=-4)}", flush=True)
            continue
        if study:
            accepted.append(done)
        for line in lines:
            if len(line) >= 300:
                found["long"] += 1
                print(f"LONG {len(line)} {done}: {line[:200]}")
    for done in random.Random(seed).sample(accepted, min(60, len(accepted))):
        print("accepted:", done)
    print(f"{many:,} configs: {len(accepted):,} accepted; {dict(found) or 'nothing else raised'}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
