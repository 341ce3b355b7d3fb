"""R's own data files: what would run as it is read is refused, all else is read as R has it."""

import gzip
import shutil
import subprocess

import pytest

from readingtimes.errors import InputError
from readingtimes.formats import anything, rda

pytestmark = pytest.mark.skipif(not shutil.which("Rscript"), reason="Rscript is not on the PATH")

HARMLESS = {
    "columns.rda": "d <- data.frame(n = 1:3, x = c(.5, NA, 2), s = c('ä', NA, 'b'), f = factor(c('u', 'v', 'u')),"
    " l = c(TRUE, NA, FALSE), t = as.Date('2020-01-01') + 0:2); save(d, file = '{0}')",
    "old.rda": "d <- data.frame(n = 1:3); save(d, file = '{0}', version = 2)",
    "plain.rds": "saveRDS(data.frame(n = 1:3, s = 'a'), '{0}', compress = FALSE)",
    "xz.rds": "saveRDS(data.frame(n = 1:3), '{0}', compress = 'xz')",
    "bz.rds": "saveRDS(data.frame(n = 1:3), '{0}', compress = 'bzip2')",
    "terms.rds": "saveRDS(model.frame(dist ~ speed, cars), '{0}')",  # a formula, its environment
    "beside.rda": "e <- new.env(); assign('x', 1, e); f <- function(a) a + 1; q <- quote(g(h));"
    " d <- data.frame(n = 1:3); p <- 1i; save(d, e, f, q, p, file = '{0}')",
    "long.rda": "d <- data.frame(n = seq_len(1e5), s = as.character(1:1e5)); save(d, file = '{0}')",
}


def run(code, *paths):
    subprocess.run(["Rscript", "--vanilla", "-e", code.format(*paths)], check=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder of all the files, made by one R."""
    made = tmp_path_factory.mktemp("r_data")
    code = "; ".join(text.replace("{0}", str(made / name)) for name, text in HARMLESS.items())
    trap = made / "sprung"
    code += f"; delayedAssign('d', {{file.create('{trap}'); data.frame(n = 1)}}); other <- data.frame(n = 1:3)"
    code += f"; save(other, d, file = '{made / 'promise.rda'}', eval.promises = FALSE)"
    inside = "list(a = data.frame(n = 1), b = quote(file.create(0)))"
    code += f"; saveRDS({inside}, '{made / 'inside.rds'}', compress = FALSE)"
    code += (
        f"; f <- compiler::cmpfun(function(a) a); save(f, other, file = '{made / 'compiled.rda'}')"
    )
    code += f"; save(other, file = '{made / 'text.rda'}', ascii = TRUE)"
    run(code.replace("{", "{{").replace("}", "}}"))
    return made


@pytest.mark.merge
@pytest.mark.parametrize("name", HARMLESS)
def test_what_lies_still_is_read(folder, name):
    rda.refuse_code(folder / name)
    assert len(anything.read(folder / name, anything.Style()).frame)


def test_a_promise_is_refused_and_not_looked_at(folder):
    with pytest.raises(InputError, match="the variable 'd' holds a promise"):
        anything.read(folder / "promise.rda", anything.Style())
    assert not (folder / "sprung").exists()
    run("e <- new.env(); load('{}', e); invisible(mget('d', e))", folder / "promise.rda")
    assert (folder / "sprung").exists()  # what the walk keeps R from


def test_a_promise_within_other_data_is_refused(folder, tmp_path):
    content = (folder / "inside.rds").read_bytes()
    language, promise = (0x06).to_bytes(4, "big"), (0x05).to_bytes(4, "big")
    assert content.count(language) == 1
    changed = tmp_path / "inside.rds"
    for write in (changed.write_bytes, lambda data: changed.write_bytes(gzip.compress(data))):
        write(content.replace(language, promise))
        with pytest.raises(InputError, match="it holds a promise"):
            rda.refuse_code(changed)


@pytest.mark.parametrize(
    ("name", "told"), [("compiled.rda", "holds compiled functions"), ("text.rda", "ascii = FALSE")]
)
def test_what_cannot_be_walked_through_is_refused_with_a_way_out(folder, name, told):
    with pytest.raises(InputError, match=told):
        rda.refuse_code(folder / name)


def test_a_file_cut_anywhere_is_refused_in_one_line(folder, tmp_path):
    content = (folder / "plain.rds").read_bytes()
    for size in range(2, len(content)):
        (tmp_path / "cut.rds").write_bytes(content[:size])
        with pytest.raises(InputError, match="cut.rds"):
            rda.refuse_code(tmp_path / "cut.rds")
