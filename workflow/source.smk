# The folder of the project and its package, for this workflow and for workflows that import it as a
# module. A module from a repository is loaded file by file, so its package is checked out here.
import os
import subprocess
import sys

from snakemake.utils import min_version

min_version("9.20")

source = workflow.current_basedir
HERE = os.path.dirname(os.path.abspath(str(source)))
if not os.path.isdir(HERE):
    repository = source.repo_path if hasattr(source, "repo_path") else source.hosted_repo.repo_clone
    named = ["git", "-C", repository, "rev-parse", "--verify", f"{source.ref}^{{commit}}"]
    commit = subprocess.run(named, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    HERE = os.path.abspath(f".snakemake/recency/{commit}")
    if not os.path.isdir(HERE):
        part = f"{HERE}.{os.getpid()}"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", repository, part], check=True)
        subprocess.run(["git", "-C", part, "checkout", "--quiet", commit], check=True)
        os.rename(part, HERE)

# Jobs find the package here too, in a conda environment and on a cluster.
sys.path.insert(0, os.path.join(HERE, "src"))
os.environ["PYTHONPATH"] = sys.path[0]

from recency.workflow import installed, snakemake_patches

installed.require("pandas")
snakemake_patches.require_version()
