#!/usr/bin/env bash
# Build KenLM's lmplz, build_binary and query into PREFIX/bin: kenlm.post-deploy.sh [PREFIX PYTHON]
# Snakemake runs a copy of this in the new environment, from wherever the run is; setup.sh runs it too.
# PYTHON's pip fetches the source, pinned by its sha256. Needs cmake, make, a C++ compiler and Boost: in
# a conda environment its own, also where the system has others. An interrupted build continues.
set -euo pipefail
pin="kenlm==0.3.0 --hash=sha256:c4628bb9fb63c8a6f9240035b8b037385cfc404cb72e933cf48878291edac1e8"
prefix=${1:-$CONDA_PREFIX}
python=${2:-$prefix/bin/python}
build=$prefix/kenlm-build

mkdir -p "$prefix/bin" "$build"
options=(-DCMAKE_BUILD_TYPE=Release)
if [ -d "$prefix/conda-meta" ]; then
    export PATH="$prefix/bin:$PATH"
    for CXX in "$prefix"/bin/*-c++; do
        [ -x "$CXX" ] || { echo "$prefix has no C++ compiler: cxx-compiler is missing" >&2 && exit 1; }
    done
    export CXX CC="${CXX%c++}cc"
    options+=(-DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_RPATH="$prefix/lib")
fi
echo "$pin" >"$build/pin.txt"
"$python" -m pip download --no-deps --no-binary kenlm --require-hashes --dest "$build" -r "$build/pin.txt"
tar -xzf "$build"/kenlm-*.tar.gz -C "$build"
cd "$build"/kenlm-*/
# boost_system has held nothing since Boost 1.69, and Boost 1.89 has no such library to find.
sed -i.orig '/^  system$/d' CMakeLists.txt
cmake -S . -B build "${options[@]}"
cmake --build build --parallel "${CORES:-$(getconf _NPROCESSORS_ONLN)}" \
    --target lmplz build_binary query

echo "the cat sat on the mat" | build/bin/lmplz -o 2 -S 100M -T "$build" --discount_fallback >/dev/null
for program in query build_binary lmplz; do
    cp "build/bin/$program" "$prefix/bin/.$program.part"
    mv "$prefix/bin/.$program.part" "$prefix/bin/$program"
done
rm -rf "$build"
