#!/usr/bin/env bash
# Everything that the workflow and its tests need, inside this folder: run by `make setup`.
#
#   .venv/          Python packages, as envs/requirements.lock pins them, and a link to this one
#   .tools/bin      R and Rscript: links to an R that has lme4
#   .tools/kenlm    lmplz, built from its pinned source
#
# What the machine lacks (Python 3.11 to 3.13, R with lme4, a C++ compiler with Boost) comes from
# Debian's or Ubuntu's packages when this account may install them, else from conda into
# .tools/conda. The user's own Python and R libraries are never written to. Asks nothing; can be
# stopped at any time and started again; a second run takes a second.
set -euo pipefail

PACKAGES=(. packages/crosslmm packages/readingtimes)
PYTHONS=(python3.11 python3.12 python3.13 python3)
APT_R=(r-base-core r-cran-lme4)
APT_BUILD=(
    cmake make g++ zlib1g-dev libbz2-dev liblzma-dev
    libboost-{program-options,thread,test,iostreams}-dev
)
CONDA_PACKAGES=(
    python=3.11 pip r-base=4.4 r-lme4
    cmake make cxx-compiler libboost-devel zlib bzip2 xz
)
CONDA=.tools/conda
KENLM=envs/kenlm.post-deploy.sh

say() { echo "[setup] $*"; }

fail() {
    echo "[setup] $*" >&2
    exit 1
}

# logged NAME COMMAND...: run with its output in .tools/logs/NAME.log, of which a failure shows the end.
logged() {
    local name=$1 log=.tools/logs/$1.log start=$SECONDS
    shift
    mkdir -p .tools/logs
    if ! "$@" >"$log" 2>&1 </dev/null; then
        echo "[setup] this failed: $*" >&2
        tail -n 25 "$log" >&2
        fail "the whole output is in $log; the same command goes on from here"
    fi
    say "  $name: done in $((SECONDS - start)) s"
}

# --- what is there -----------------------------------------------------------------------------

# python_has PYTHON MODULES: it is of a version that the lock is for, and has these modules.
python_has() {
    "$1" -c "import sys, $2; sys.exit(not (3, 11) <= sys.version_info < (3, 14))" >/dev/null 2>&1
}

venv_works() { python_has .venv/bin/python pip; }

# The Python for .venv. When R comes from conda, so does Python: both load the same C++ library.
find_python() {
    local name
    for name in "$CONDA/bin/python" "${PYTHONS[@]}"; do
        if python_has "$name" "venv, ensurepip"; then
            command -v "$name"
            return
        fi
    done
    return 1
}

# The Debian package of Python's headers, if they are not here. Compiling a network, as a training on
# a GPU does, needs them; nothing else does, so that a machine may lack them.
apt_headers() {
    local python=.venv/bin/python package
    venv_works || python=$(find_python) || return 0
    package=$("$python" -c 'if True:
        import pathlib, sys, sysconfig
        if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
            print("python{}.{}-dev".format(*sys.version_info))')
    [[ -z $package ]] || ! apt-cache show "$package" >/dev/null 2>&1 || echo "$package"
}

# The first Rscript that can load lme4 and whose R is a library too, as rpy2 needs it; and the package's
# folder.
find_rscript() {
    local rscript folder
    while read -r rscript; do
        folder=$("$rscript" -e 'library(lme4)
            stopifnot(length(Sys.glob(file.path(R.home("lib"), "libR.*"))) > 0)
            cat("", find.package("lme4"), sep = "\n")' \
            </dev/null 2>/dev/null) || continue
        printf '%s\n%s\n' "$rscript" "$(tail -n 1 <<<"$folder")"
        return
    done < <(type -ap "$PWD/$CONDA/bin/Rscript" Rscript)
    return 1
}

# R was linked before, and neither it nor its packages have gone since.
r_linked() {
    local folder
    [[ -x .tools/bin/Rscript && -f .tools/r-packages ]] || return
    while read -r folder; do
        [[ -d $folder ]] || return
    done <.tools/r-packages
}

lmplz_built() { cmp -s "$KENLM" .tools/kenlm/built && [[ -x .tools/kenlm/bin/lmplz ]]; }

can_build() {
    local program=.tools/has-boost libraries=(program_options thread unit_test_framework)
    [[ -x $CONDA/bin/cmake ]] && return
    command -v cmake >/dev/null && command -v make >/dev/null || return
    c++ -x c++ - -o "$program" "${libraries[@]/#/-lboost_}" >/dev/null 2>&1 \
        <<<$'#include <boost/program_options.hpp>\nint main() {}'
}

# What this machine lacks, of: python r build.
missing() {
    venv_works || find_python >/dev/null || echo python
    r_linked || find_rscript >/dev/null || echo r
    lmplz_built || can_build || echo build
}

# --- where it can come from --------------------------------------------------------------------

# as_root COMMAND...: as root, or through a sudo that asks for no password.
as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo -n "$@"; fi
}

may_apt() { command -v apt-get >/dev/null && as_root true >/dev/null 2>&1; }

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l \
        apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# The packages of the first Python that this release of Debian or Ubuntu has.
apt_python() {
    local name
    for name in "${PYTHONS[@]}"; do
        if apt-cache show "$name-venv" >/dev/null 2>&1; then
            break
        fi
    done
    echo "$name" "$name-venv" "$name-dev"
}

apt_packages() {
    local need
    for need in "$@"; do
        case $need in
            python) apt_python ;;
            r) echo "${APT_R[@]}" ;;
            build) echo "${APT_BUILD[@]}" ;;
            headers) apt_headers ;;
        esac
    done
}

install_by_apt() {
    say "Debian packages for: $* (1 to 3 minutes)"
    logged apt-update apt_get update
    # A dpkg that was killed half-way has to end its work first.
    logged dpkg as_root env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
    # shellcheck disable=SC2046
    logged apt-install apt_get install -y --no-install-recommends $(apt_packages "$@")
}

find_conda() {
    local name
    for name in micromamba mamba conda "${MAMBA_EXE:-}" "${CONDA_EXE:-}"; do
        if [[ -n $name ]] && command -v "$name"; then return; fi
    done
    return 1
}

install_by_conda() {
    local conda
    conda=$(find_conda)
    say "conda packages into $CONDA with $conda (3 to 10 minutes)"
    rm -rf "$CONDA" .venv
    logged conda "$conda" create --yes --prefix "$PWD/$CONDA" \
        --override-channels --channel conda-forge "${CONDA_PACKAGES[@]}"
    touch "$CONDA/complete"
}

three_ways() {
    fail "missing: $*, and this account can't install it. Three ways out:
  1. Debian or Ubuntu: run the same command as root or with sudo that asks for no password, or have
     an administrator run: apt-get install $(apt_packages "$@" | tr '\n' ' ')
  2. no root: install conda, mamba or micromamba in your home, put it on the PATH and run the same
     command; it makes an environment of its own in $CONDA
  3. put these on the PATH yourself: Python 3.11 to 3.13 with venv, Rscript with the package lme4,
     and cmake, make, c++ with Boost's libraries"
}

get_missing() {
    local lacks
    # A conda environment that was not finished is made anew.
    [[ ! -e $CONDA || -e $CONDA/complete ]] || rm -rf "$CONDA"
    lacks=$(missing)
    if may_apt; then
        [[ -z $lacks && -z $(apt_headers) ]] || lacks+=" headers"
        # shellcheck disable=SC2086
        [[ -z $lacks ]] || install_by_apt $lacks
        lacks=$(missing)
    fi
    if [[ -n $lacks ]] && find_conda >/dev/null; then
        install_by_conda
        lacks=$(missing)
    fi
    # shellcheck disable=SC2086
    [[ -z $lacks ]] || three_ways $lacks
}

# --- what is made from it ----------------------------------------------------------------------

link_r() {
    r_linked && return
    local rscript lme4
    { read -r rscript && read -r lme4; } < <(find_rscript)
    mkdir -p .tools/bin
    ln -sf "$rscript" .tools/bin/Rscript
    ln -sf "$(dirname "$rscript")/R" .tools/bin/R
    printf '%s\n' "$lme4" >.tools/r-packages
    say "R with lme4: $rscript"
}

new_venv() {
    venv_works && return
    local python
    python=$(find_python)
    say "virtual environment .venv with $("$python" --version 2>&1) (10 s)"
    logged venv "$python" -m venv --clear .venv
}

# Byte code is written when a module is first imported, which most never are.
pip_install() { .venv/bin/python -m pip install --no-compile "$@"; }

install_packages() {
    cmp -s envs/requirements.lock .venv/requirements.lock && return
    # pip writes INSTALLER last: a package without it was cut off, and is installed again.
    local package
    for package in .venv/lib/python3*/site-packages/*.dist-info; do
        [[ -f $package/INSTALLER ]] || rm -rf "$package"
    done
    say "Python packages into .venv (1 to 5 minutes; on Linux with 3 GB of CUDA libraries, unless" \
        "PIP_EXTRA_INDEX_URL is PyTorch's index of CPU wheels); the output is in .tools/logs"
    logged pip pip_install --no-deps --require-hashes -r setup/hashes.txt
    # What is left is PyTorch, of which each index has builds of its own.
    logged pip-torch pip_install -r envs/requirements.lock
    logged rpy2 .venv/bin/python -c 'from rpy2.robjects.packages import importr; importr("lme4")'
    # Where no byte code may be written later, every process would compile what it imports.
    [[ -z ${PYTHONDONTWRITEBYTECODE:-} ]] ||
        logged imports env -u PYTHONDONTWRITEBYTECODE .venv/bin/python setup/imports.py
    rm -f .venv/package
    cp envs/requirements.lock .venv/requirements.lock
}

# The packages themselves, for notebooks: .venv gets links to them, so that an edit counts at once.
# .venv/package holds what it links to: of a checkout that was moved, or has another package, it is made
# anew.
link_package() {
    local linked="$PWD: ${PACKAGES[*]}"
    [[ -f .venv/package && $(<.venv/package) == "$linked" ]] && return
    logged package pip_install --no-deps --no-build-isolation "${PACKAGES[@]/#/--editable=}"
    echo "$linked" >.venv/package
}

# in_conda COMMAND...: with conda's compilers, when there is an environment of ours.
in_conda() {
    if [[ -e $CONDA ]]; then "$(find_conda)" run --prefix "$PWD/$CONDA" "$@"; else "$@"; fi
}

make_kenlm() {
    lmplz_built && return
    say "KenLM's lmplz into .tools/kenlm (about 1 minute)"
    logged kenlm in_conda bash "$KENLM" "$PWD/.tools/kenlm" "$PWD/.venv/bin/python"
    cp "$KENLM" .tools/kenlm/built
}

main() {
    cd "$(dirname "${BASH_SOURCE[0]}")"
    unset PYTHONPATH PYTHONHOME
    export PIP_USER=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONNOUSERSITE=1
    export RPY2_CFFI_MODE=ABI
    # ./run puts .tools/bin on the PATH: what is looked for here is what it links to.
    PATH=${PATH//"$PWD/.tools/bin:"/}
    mkdir -p .tools
    if command -v flock >/dev/null; then
        exec 9>.tools/lock
        flock -n 9 || { say "another set-up is at work here: waiting for it"; flock 9; }
    fi
    get_missing
    link_r
    PATH=$PWD/.tools/bin:$PATH
    new_venv
    make_kenlm & # takes processors while the packages take the network
    local kenlm=$!
    install_packages
    link_package
    wait "$kenlm"
    say "ready"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then main "$@"; fi
