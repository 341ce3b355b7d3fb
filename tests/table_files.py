"""What a table's files have in common: CSV, HTML and LaTeX show the same cells."""

from html.parser import HTMLParser


class Grid(HTMLParser):
    """Reads a page's tables: rows of (text, columns spanned), in `rows`."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("meta", "br"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(["", int(dict(attributes).get("colspan", 1))])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1][0] += ("|" if self.open[-1] == "small" else "") + data


def check_shape(folder):
    """Every row of the HTML and LaTeX tables has as many columns as the others."""
    page = Grid((folder / "t.html").read_text())
    assert not page.open and len({sum(span for _, span in row) for row in page.rows}) == 1
    text = (folder / "t.tex").read_text()
    columns = len(text.split("@{}")[1])
    for line in text.splitlines():
        if line.endswith(r"\\") and "p{\\linewidth}" not in line:
            spans = [int(part.split("}")[0]) for part in line.split(r"\multicolumn{")[1:]]
            cells = line.replace(r"\&", "").count("&") + 1
            assert cells - len(spans) + sum(spans) == columns, line
    assert text.count("{") == text.count("}")
    return page.rows
