"""What a fork that becomes Snakemake does; a module of its own, which loads nothing of the package."""

import atexit
import os
import sys


def become_snakemake(arguments, folder, variables):
    """Run Snakemake in a folder, its output in .printed.txt there; the package is the folder's own."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    file = os.open(".printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    for name in [name for name in sys.modules if name.split(".")[0] == "recency"]:
        del sys.modules[name]  # whoever started this may have loaded the developer's
    from snakemake.cli import main

    sys.argv = ["snakemake", *arguments]
    atexit._clear()
    try:
        main(arguments)
    finally:
        atexit._run_exitfuncs()  # which a fork of multiprocessing leaves out
