# SPDX-License-Identifier: BSD-2-Clause
# spack repo add packaging/spack/spack_repo/petscspike, then spack install petscspike

import os

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Petscspike(MakefilePackage, CudaPackage):
    """Solvers for PETSc that use structure: bands by the SPIKE algorithm, small dense blocks, regular grids, and fused
    Krylov methods. A library that any PETSc program loads with -dll_append."""

    # This recipe lies in the repository of the sources: a checkout is what it builds
    homepage = "https://petsc.org"
    _top = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))
    git = "file://" + _top

    license("BSD-2-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="test")

    depends_on("mpi")
    depends_on("petsc@3.24:3.26+shared+mpi", type=("build", "link", "run"))
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
    conflicts("cuda_arch=none", when="+cuda", msg="say which GPUs: cuda_arch=90")
    depends_on("petsc~cuda", when="~cuda")

    def _targets(self, target):
        targets = [target, f"PETSC_DIR={self.spec['petsc'].prefix}", "PETSC_ARCH=", f"prefix={self.prefix}"]
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
        # make check takes a quarter of an hour, and needs mpiexec: run it by hand in the stage
        pass

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # For -dll_append '${SPIKE_DIR}/lib/libpetscspike.so'
        env.set("SPIKE_DIR", self.prefix)

    def setup_dependent_build_environment(self, env: EnvironmentModifications, dependent_spec: Spec) -> None:
        env.set("SPIKE_DIR", self.prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        pkgconfig = which("pkg-config")
        if pkgconfig is not None:
            pkgconfig("--exists", "--print-errors", join_path(self.prefix.lib.pkgconfig, "petscspike.pc"))
