#!/usr/bin/env bash
# Build KenLM's lmplz, build_binary and query: setup/kenlm.sh PREFIX PYTHON
# PREFIX/bin gets the three; PYTHON's pip fetches the source that setup/kenlm.txt pins by its sha256.
# Needs cmake, make, a C++ compiler and Boost. A build that was cut off goes on where it was.
set -euo pipefail
prefix=$1
python=$2
pins=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/kenlm.txt
build=$prefix/kenlm-build

mkdir -p "$prefix/bin" "$build"
"$python" -m pip download --no-deps --no-binary kenlm --require-hashes --dest "$build" -r "$pins"
tar -xzf "$build"/kenlm-*.tar.gz -C "$build"
cd "$build"/kenlm-*/
# boost_system has held nothing since Boost 1.69, and Boost 1.89 has no such library to find.
sed -i.orig '/^  system$/d' CMakeLists.txt
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build --parallel "${CORES:-$(getconf _NPROCESSORS_ONLN)}" \
    --target lmplz build_binary query

echo "the cat sat on the mat" | build/bin/lmplz -o 2 -S 100M -T "$build" --discount_fallback >/dev/null
for program in query build_binary lmplz; do
    cp "build/bin/$program" "$prefix/bin/.$program.part"
    mv "$prefix/bin/.$program.part" "$prefix/bin/$program"
done
rm -rf "$build"
