# SPDX-License-Identifier: BSD-2-Clause
# spack repo add packaging/spack/spack_repo/petscspike, then spack install petscspike@main

import os

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Petscspike(MakefilePackage, CudaPackage):
    """Solvers for PETSc that use structure: bands by the SPIKE algorithm, small dense blocks,
    regular grids, and fused Krylov methods. A library that any PETSc program loads with
    -dll_append."""

    # This recipe lies in the repository of the sources: a checkout is what it builds, and where
    # its documents are
    _top = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))
    git = "file://" + _top
    homepage = git

    license("BSD-2-Clause")

    test_requires_compiler = True

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("python@3.8:", type="build")  # manual pages
    depends_on("pkgconfig", type="test")

    depends_on("mpi")
    depends_on("petsc@3.24:3.26+shared+mpi", type=("build", "link", "run"))
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=90")
    depends_on("petsc~cuda", when="~cuda")

    def _targets(self, target):
        petsc = self.spec["petsc"].prefix
        targets = [target, f"PETSC_DIR={petsc}", "PETSC_ARCH=", f"prefix={self.prefix}"]
        if self.spec.satisfies("+cuda"):
            targets.append("CUDA_ARCH=" + " ".join(self.spec.variants["cuda_arch"].value))
        return targets

    @property
    def build_targets(self):
        return self._targets("lib")

    @property
    def install_targets(self):
        return self._targets("install")

    def check(self):
        # make check takes some minutes, and needs mpiexec: run it by hand in the stage
        pass

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # For -dll_append '${SPIKE_DIR}/lib/libpetscspike.so'
        env.set("SPIKE_DIR", self.prefix)

    def setup_dependent_build_environment(
        self, env: EnvironmentModifications, dependent_spec: Spec
    ) -> None:
        env.set("SPIKE_DIR", self.prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        pkgconfig = which("pkg-config", required=True)
        description = join_path(self.prefix.lib.pkgconfig, "petscspike.pc")
        pkgconfig("--exists", "--print-errors", description)

    @run_after("install")
    def keep_test_sources(self):
        cache_extra_test_sources(self, "tutorials")

    def _tutorial(self, name, libraries, options, expected):
        """Compiles a tutorial with the wrapper of MPI, and runs it."""
        tutorials = self.test_suite.current_test_cache_dir.tutorials
        mpicc = Executable(self.spec["mpi"].mpicc)
        with working_dir(tutorials):
            arguments = [f"{name}.c", "-o", name]
            for prefix, library in libraries:
                arguments += [f"-I{prefix.include}", f"-L{prefix.lib}", f"-Wl,-rpath,{prefix.lib}"]
                arguments.append(f"-l{library}")
            mpicc(*arguments)
            program = which(join_path(tutorials, name), required=True)
            output = program(*options, "-ksp_view", output=str.split, error=str.split)
        check_outputs(expected, output)

    def test_load(self):
        """a program that knows PETSc only loads the library by its options"""
        library = find_libraries("libpetscspike", root=self.prefix.lib, shared=True)[0]
        options = ["-dll_append", library, "-ksp_type", "preonly", "-pc_type", "spike"]
        petsc = (self.spec["petsc"].prefix, "petsc")
        self._tutorial("ex0", [petsc], options, ["type: spike", "true relative residual < 1e-4"])

    def test_link(self):
        """a program that includes petscspike.h"""
        petsc = (self.spec["petsc"].prefix, "petsc")
        ours = (self.prefix, "petscspike")
        self._tutorial("ex1", [ours, petsc], [], ["type: spike", "largest error < 1e-4"])
