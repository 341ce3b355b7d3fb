# The project's folder and package, for this workflow and for workflows that use it as a module. Snakemake
# fetches a remote module file by file, so the package is checked out here at the module's version.
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

# For jobs in conda environments and on clusters.
PACKAGES = ["src", "packages/crosslmm/src", "packages/readingtimes/src"]
sys.path[:0] = [os.path.join(HERE, package) for package in PACKAGES]
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[: len(PACKAGES)])

from recency.workflow.engine import faults, snakemake_patches

faults.require("pandas")
snakemake_patches.require_version()
