#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# consumers.sh: an installation that was moved (make install DESTDIR=...), and what uses it: pkg-config, CMake, Spack;
# with the PETSc at hand, and with an installation of it. Prints TAP lines; tools/check runs it.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
loading=${SPIKE_BUILD:?}/loading cc=${SPIKE_CC:-mpicc}
plain=$loading/plain run="$mpiexec -n 1"
right='^solved with spike: right *$'
if [ ! -d "$loading/staged/opt/petscspike" ]; then
  skip "consumers" "nothing was installed with DESTDIR here"
  finish
fi
mkdir moved
cp -a "$loading/staged/opt/petscspike" moved/
prefix=$work/moved/petscspike
version=$(sed -n 's/^VERSION *:= *//p' "$top/makefile") abi=$(sed -n 's/^ABI *:= *//p' "$top/makefile")
petsc_pc=${PETSC_DIR:-}/${PETSC_ARCH:-}/lib/pkgconfig

# The installation itself
passes "moved: dll_append" "$right" $run "$plain" -dll_append "$prefix/lib/libpetscspike.so" -pc_type spike
grep -r -l -I -F "$loading" "$prefix" >output
if [ ! -s output ]; then ok "moved: no file names the place where it was staged"
else not_ok "moved: no file names the place where it was staged"; fi
if [ "$(cd "$prefix/lib" && readlink libpetscspike.so)" = "libpetscspike.so.$abi" ] &&
  [ "$(cd "$prefix/lib" && readlink "libpetscspike.so.$abi")" = "libpetscspike.so.$version" ]; then ok "moved: links"
else ls -l "$prefix/lib" >output; not_ok "moved: links"; fi
# Manual pages of all functions and types, and the documents with what they link to, moved too
if ! command -v python3 >/dev/null; then
  for t in "manual pages" "documents"; do skip "moved: $t" "no python3, without which they are not installed"; done
else
  for name in PCSPIKE PCBLOCKILU KSPBCGSFUSED KSPCGFUSED KSPIDRFUSED MATDIA MATGRIDSTENCIL MATSOLVERSPIKE \
    $(sed -n 's/^PETSC_EXTERN PetscErrorCode \(\(PC\|KSPFused\|KSPIDRFused\|Mat\|Petsc\)[A-Za-z]*\)(.*/\1/p' \
      "$prefix/include/petscspike.h"); do
    grep -q "^$name .- " "$prefix/share/man/man3/$name.3" 2>/dev/null || echo "no manual page of $name"
  done >output
  [ "$(grep -l '^\.SH SYNOPSIS' "$prefix"/share/man/man3/PCSpike*.3 | wc -l)" -gt 20 ] || echo "few pages" >>output
  if [ ! -s output ]; then ok "moved: manual pages"; else not_ok "moved: manual pages"; fi
  passes "moved: documents" "ok *$" python3 "$here/python/documents.py" "$top" "$prefix/share/doc/petscspike"
fi
# A libpetsc beside it comes before that of PETSC_DIR: both may be moved together
mkdir -p together
cp -a "$prefix/lib"/libpetscspike.so* together/
petsc=$(find -L "${PETSC_DIR:-}/${PETSC_ARCH:-}/lib" -maxdepth 1 -name 'libpetsc*.so.[0-9]*' 2>/dev/null | head -n 1)
name=$(readelf -d "$prefix/lib/libpetscspike.so" 2>/dev/null | sed -n 's/.*NEEDED.*\[\(libpetsc[^]]*\)\].*/\1/p')
if [ -z "$name" ] || [ -z "$petsc" ] || ! command -v ldd >/dev/null; then
  skip "moved: beside libpetsc" "no readelf or ldd"
else
  ln -s "$petsc" "together/$name"
  passes "moved: beside libpetsc" "$name => $work/together/$name" ldd together/libpetscspike.so
fi

# pkg-config: PETSc's flags come with ours
compile() # FLAGS...: the compiler may be several words
{
  $cc ${SPIKE_CFLAGS:-} -DLINKED -o consumer "$here/loading/solve.c" "$@" -Wl,-rpath,"$prefix/lib" \
    -Wl,-rpath,"$(pkg-config --variable=libdir petsc)"
}
if ! command -v pkg-config >/dev/null; then
  for t in "flags" "another PETSc" "no PETSc"; do skip "pkg-config: $t" "no pkg-config"; done
else
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$petsc_pc
  if compile $(pkg-config --cflags --libs petscspike) >output 2>&1; then
    passes "pkg-config: flags" "$right" $run ./consumer
  else not_ok "pkg-config: flags"; fi
  mkdir alien
  sed 's/^Version:.*/Version: 3.99.0/' "$petsc_pc/petsc.pc" >alien/petsc.pc
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$work/alien PKG_CONFIG_LIBDIR=/nowhere refuses "pkg-config: another PETSc" \
    "'petsc < 3" pkg-config --exists --print-errors petscspike
  PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_LIBDIR=/nowhere refuses "pkg-config: no PETSc" \
    "'petsc', required by 'petscspike'" pkg-config --exists --print-errors petscspike
  unset PKG_CONFIG_PATH
fi

# CMake, with the compiler of MPI and with a plain one
configure() # FOLDER OPTIONS...
{
  local folder=$1
  shift
  cmake -S "$here/consumers" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" -DLANGUAGE=C \
    -DSOURCE="$here/loading/solve.c" "$@"
}
compiler=${cc%% *}
no_cmake=
if ! command -v cmake >/dev/null; then no_cmake="no cmake"
elif ! command -v pkg-config >/dev/null; then no_cmake="no pkg-config"
elif [ -n "${SPIKE_CFLAGS:-}" ]; then no_cmake="not with sanitizers"; fi
builds() # NAME OPTIONS...
{
  local name=$1 folder=cmake$count
  shift
  if [ -n "$no_cmake" ]; then skip "cmake: $name" "$no_cmake"
  elif configure $folder "$@" >output 2>&1 && cmake --build $folder >>output 2>&1; then
    passes "cmake: $name" "$right" $run "$folder/consumer"
  else not_ok "cmake: $name"; fi
}
fails() # NAME TEXT OPTIONS...
{
  local name=$1 text=$2
  shift 2
  if [ -n "$no_cmake" ]; then skip "cmake: $name" "$no_cmake"
  else refuses "cmake: $name" "$text" configure cmake$count "$@"; fi
}
builds "the compiler of MPI" -DCMAKE_C_COMPILER="$compiler"
if command -v cc >/dev/null; then builds "a plain compiler" -DCMAKE_C_COMPILER=cc
else skip "cmake: a plain compiler" "no cc"; fi
if command -v mpicxx >/dev/null && [ "$compiler" -ef "$(command -v mpicc)" ] || [ "$compiler" = mpicc ]; then
  builds "C++" -DLANGUAGE=CXX -DCMAKE_CXX_COMPILER=mpicxx -DSOURCE="$here/consumers/main.cpp"
else skip "cmake: C++" "no mpicxx that fits $compiler"; fi
builds "this version" -DWANTED=$abi
PETSC_DIR= PETSC_ARCH= builds "PETSC_DIR as it was recorded"
later=${abi%.*}.$((${abi#*.} + 1))
fails "a later version" "not .*compatible .*$later|version: $version" -DWANTED=$later
fails "an older version" "not .*compatible .*0\.0|version: $version" -DWANTED=0.0.1
fails "no PETSc" 'no PETSc 3\.[0-9]+, for which petscspike was built.*set PETSC_DIR and PETSC_ARCH' \
  -DPETSC_DIR=/nowhere

# Spack's recipe: by Spack where there is one; its calls of make by a stub of Spack everywhere
recipe=$top/packaging/spack/spack_repo/petscspike
if ! command -v spack >/dev/null; then skip "spack: concretize" "no spack"
else
  export SPACK_USER_CONFIG_PATH=$work/spack SPACK_USER_CACHE_PATH=$work/spackcache
  spack repo add "$recipe" >output 2>&1
  passes "spack: concretize" "petsc@3\." spack spec petscspike
fi
if ! command -v python3 >/dev/null; then skip "spack: what it calls" "no python3"
else
  passes "spack: what it calls" "ok *$" python3 "$here/python/spackrecipe.py" "$recipe/packages/petscspike/package.py" \
    "$top" "${PETSC_DIR:-}" "${PETSC_ARCH:-}" "$work/spackprefix"
fi

# The same with an installation of this PETSc (PETSC_DIR alone), for which the library is linked again from its objects,
# installed and moved
petsc=$work/petsc build=$work/build no_prefix=
if [ -z "${PETSC_ARCH:-}" ]; then no_prefix="PETSC_DIR is an installation, all tests have it"
elif ! command -v python3 >/dev/null; then no_prefix="no python3"
elif [ ! -f "$PETSC_DIR/config/install.py" ]; then no_prefix="PETSC_DIR has no config/install.py"
elif [ ! -d "$SPIKE_BUILD/obj" ]; then no_prefix="SPIKE_BUILD has no objects"
elif ! command -v pkg-config >/dev/null; then no_prefix="no pkg-config"
elif [ -n "${SPIKE_CFLAGS:-}" ]; then no_prefix="not with sanitizers"; fi
if [ -n "$no_prefix" ]; then
  for t in "PETSc" "compiles" "links" "the library is moved" "pkg-config" "spack"; do
    skip "prefix: $t" "$no_prefix"
  done
  finish
fi
passes "prefix: PETSc" "" python3 "$here/python/petscprefix.py" "$PETSC_DIR" "$PETSC_ARCH" "$petsc"
makes() # FOLDER ARGUMENTS...: the makefile with that PETSc
{
  local folder=$1
  shift
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$top" PETSC_DIR="$petsc" PETSC_ARCH= BASE="$folder" "$@"
}
passes "prefix: compiles" "" makes "$work/one" "$work/one/obj/src/register.o"
mkdir -p "$build"
ln -s "$SPIKE_BUILD/obj" "$build/obj"
passes "prefix: links" "Installed in $work/old" makes "$build" -o "$build/flags" -o "$build/cudaflags" install \
  prefix="$work/old" DESTDIR=
mv old new 2>/dev/null
prefix=$work/new PKG_CONFIG_PATH=$work/new/lib/pkgconfig:$petsc/lib/pkgconfig
unset PETSC_DIR PETSC_ARCH
export PKG_CONFIG_PATH
if $cc -o alone "$here/loading/solve.c" $(pkg-config --cflags --libs petsc) -Wl,-rpath,"$petsc/lib" >output 2>&1; then
  passes "prefix: the library is moved" "$right" $run ./alone -dll_append "$prefix/lib/libpetscspike.so" -pc_type spike
else not_ok "prefix: the library is moved"; fi
if compile $(pkg-config --cflags --libs petscspike) >output 2>&1 && ldd consumer >output &&
  grep -q "=> $petsc/lib/libpetsc" output; then passes "prefix: pkg-config" "$right" $run ./consumer
else not_ok "prefix: pkg-config"; fi
unset PKG_CONFIG_PATH
builds "PETSc by --prefix, as it was recorded" -DCMAKE_C_COMPILER="$compiler"
passes "prefix: spack" "ok *$" python3 "$here/python/spackrecipe.py" "$recipe/packages/petscspike/package.py" "$top" \
  "$petsc" "" "$work/spackprefix"
finish
