"""The report: one self-contained HTML page that begins with the answer."""
