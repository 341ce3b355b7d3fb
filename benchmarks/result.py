"""What every benchmark ends with: one JSON object, printed as the last line and kept if asked."""

import json
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def processor(used: str) -> str:
    """Name the processor and how much of it is `used`.

    Virtual machines call all of a maker's processors by one name; the family tells generations apart.
    """
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        found = dict(reversed([tuple(map(str.strip, x.split(":", 1))) for x in lines if ":" in x]))
        name = found.get("model name", name)
        if "cpu family" in found and not any(map(str.isdigit, name)):
            name += f" (family {found['cpu family']})"
    return f"{name}, {used}"


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return what `run` returns and the seconds of the processor."""
    start = time.process_time()
    return run(), time.process_time() - start


def commit() -> str | None:
    """Return the commit that is checked out, with a mark where files differ from it; None without git."""
    if shutil.which("git") is None:
        return None
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or None


def keep(
    benchmark: str, hardware: str, metrics: dict, targets: dict, out: Path | None, **more
) -> None:
    """Print the object, and write it to `out` as well."""
    result = {"benchmark": benchmark, "hardware": hardware, "commit": commit(), **more}
    result |= {"metrics": metrics, "targets": targets}
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result))
