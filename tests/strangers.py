"""Programs of people who have transformers and not recency, each in a process of its own.

To load transformers takes longer than they do, so that they are forks of one process that has it.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NoReturn

LIBRARIES = (
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.gpt_neox.modeling_gpt_neox",
    "transformers.tokenization_utils_tokenizers",
)
#: After which a program is ended.
SECONDS = 300


class Strangers:
    """The process, with a home folder of its own, in which the programs run."""

    def __init__(self, home: Path):
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self.home, pipe = home, subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=pipe,
            stdout=pipe,
            text=True,
            cwd=home,
            env=environment | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"},
        )

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess:
        """Run a program with these arguments."""
        words = [program, *arguments]
        print(json.dumps(words), file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        printed = ((self.home / name).read_text() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(words, status, *printed)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def _serve() -> None:
    gc.disable()
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        fork = os.fork()
        if fork == 0:
            _become(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), flush=True)


def _become(program: str, *arguments: str) -> NoReturn:
    status, sys.argv[1:], sys.path[0] = 0, arguments, ""
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    try:
        exec(compile(program, "a stranger's", "exec"), {"__name__": "__main__"})  # noqa: S102
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    os._exit(status)  # an interpreter's end takes longer than the program


if __name__ == "__main__":
    _serve()
