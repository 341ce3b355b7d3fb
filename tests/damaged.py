"""Tables damaged at random, and what may come of them: an error that names the file, or no harm."""

import gzip

import pandas as pd

#: What a cell is changed into: nothing, no number, numbers beyond all sense, invisible, other scripts.
CELLS = (
    "", "NA", "x", "nan", "inf", "-1", "-0", "1e300", "2147483648", "9" * 30, "1e-400", "0x10", "1_000",
    "٣", "½", "\u200b", "a b", "\u00a0", "1,5", "TRUE", "#REF!", '"', "'", "=1+1", "\x00",
)  # fmt: skip


def damage(data, draw, separator):
    """Return what was done, how many lines it touches (None: any), and the damaged bytes of a table."""
    lines = data.split(b"\n")
    at = draw.randrange(1, max(2, len(lines) - 1))
    mark = separator.encode()

    def with_line(*new):
        return b"\n".join([*lines[:at], *new, *lines[at + 1 :]])

    def cell():
        fields = lines[at].split(mark)
        place, value = draw.randrange(len(fields)), draw.choice(CELLS)
        fields[place] = value.encode()
        return f"line {at + 1}, field {place + 1} is {value!r}", 1, with_line(mark.join(fields))

    def field_less():
        fields = lines[at].split(mark)
        del fields[draw.randrange(len(fields))]
        return f"line {at + 1} has a field less", 1, with_line(mark.join(fields))

    def flipped():
        changed = bytearray(data)
        for place in (draw.randrange(len(data)) for _ in range(3)):
            changed[place] = draw.randrange(256)
        return "3 bytes flipped", 6, bytes(changed)

    def column_lost():
        place = draw.randrange(len(lines[0].split(mark)))
        rows = [line.split(mark) for line in lines]
        return (
            f"column {place + 1} lost",
            None,
            b"\n".join(mark.join(row[:place] + row[place + 1 :]) for row in rows),
        )

    def columns_swapped():
        fields = lines[0].split(mark)
        one, other = draw.randrange(len(fields)), draw.randrange(len(fields))
        fields[one], fields[other] = fields[other], fields[one]
        return "two names of the header swapped", 10**9, b"\n".join([mark.join(fields), *lines[1:]])

    def block_twice():
        size = draw.randrange(2, 6)
        block = lines[at : at + size]
        return (
            f"{size} lines from {at + 1} twice",
            size,
            b"\n".join([*lines[:at], *block, *block, *lines[at + size :]]),
        )

    def swapped():
        other = draw.randrange(1, max(2, len(lines) - 1))
        changed = list(lines)
        changed[at], changed[other] = changed[other], changed[at]
        return f"lines {at + 1} and {other + 1} swapped", 2, b"\n".join(changed)

    def zipped(broken):
        packed = bytearray(gzip.compress(data, mtime=0))
        if broken == "cut":
            return "gzip, cut", None, bytes(packed[: draw.randrange(1, len(packed))])
        packed[draw.randrange(10, len(packed))] ^= 1 << draw.randrange(8)
        return "gzip, a bit flipped", None, bytes(packed)

    kinds = [
        cell, cell, cell, cell, flipped, flipped, field_less, column_lost, columns_swapped, block_twice, swapped,
        lambda: (f"line {at + 1} lost", 1, with_line()),
        lambda: (f"line {at + 1} twice", 1, with_line(lines[at], lines[at])),
        lambda: (f"line {at + 1} empty", 1, with_line(b"")),
        lambda: (f"line {at + 1} has a field more", 1, with_line(lines[at] + mark + b"7")),
        lambda: ("cut", None, data[: draw.randrange(len(data))]),
        lambda: ("empty", None, b""),
        lambda: ("the header alone", None, lines[0] + b"\n"),
        lambda: ("no header", None, b"\n".join(lines[1:])),
        lambda: ("random bytes", None, draw.randbytes(2000)),
        lambda: ("UTF-16", None, data.decode("latin-1").encode("utf-16")),
        lambda: ("zeros at the end", None, data + bytes(512)),
        lambda: zipped("cut"),
        lambda: zipped("bit"),
        lambda: ("shuffled rows", None, b"\n".join([lines[0], *draw.sample(lines[1:-1], len(lines) - 2), b""])),
    ]  # fmt: skip
    return draw.choice(kinds)()


def changed(before, after):
    """Return how many responses are other than before, and how many are gone.

    A response is known by its subject and the word's place in the text.
    """

    def keyed(result):
        words, times = result[:2]
        place = [name for name in ("item", "position", "word") if name in words]
        words = words.assign(again=words.groupby(place).cumcount())
        named = times.merge(words[["word_id", *place, "again"]], on="word_id")
        subject = named.subject.astype(str).str.lstrip("0")  # names of numbers are padded
        keys = [subject, *(named[name].astype(str) for name in place), named.again]
        nth = named.groupby(["subject", "word_id"]).cumcount()  # a word may be fixated again
        value = next(name for name in times.columns if name.startswith(("time_ms", "amplitude")))
        return pd.Series(named[value].to_numpy(), index=pd.MultiIndex.from_arrays([*keys, nth]))

    one, other = keyed(before), keyed(after)
    both = one.index.intersection(other.index)
    differs = (one[both].to_numpy() != other[both].to_numpy()).sum()
    return int(differs) + len(other.index.difference(one.index)), len(
        one.index.difference(other.index)
    )
