# SPDX-License-Identifier: BSD-2-Clause
"""spackrecipe.py RECIPE TOP PETSC_DIR PETSC_ARCH PREFIX: runs Spack's recipe with a stub in the place of Spack.

It shows that the recipe is Python, which directives it has, and that make knows what the recipe asks it for (make -n).
It is no replacement for a run of Spack.
"""
import re
import subprocess
import sys
import types

recipe, top, petsc_dir, petsc_arch, prefix = sys.argv[1:6]
said = {}


def directive(name):
    def function(*args, **kwargs):
        said.setdefault(name, []).append((args, kwargs))

    return function


class Spec:
    prefix = petsc_dir

    def __init__(self, cuda):
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("80", "90"))}
        self.cuda = cuda

    def __getitem__(self, name):
        assert name == "petsc", name
        return self

    def satisfies(self, text):
        return text == "+cuda" and self.cuda


package = types.ModuleType("spack.package")
for name in ("license", "version", "depends_on", "conflicts", "variant", "maintainers"):
    setattr(package, name, directive(name))
package.run_after = lambda *args: lambda f: f
package.on_package_attributes = lambda **kwargs: lambda f: f
package.EnvironmentModifications = package.Spec = object
package.join_path, package.which = lambda *a: "/".join(a), lambda name: None
for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["spack.package"] = package
for name, cls, members in (
    ("cuda", "CudaPackage", {"cuda_arch_values": ("80", "90")}),
    ("makefile", "MakefilePackage", {}),
):
    module = types.ModuleType("spack_repo.builtin.build_systems." + name)
    setattr(module, cls, type(cls, (), members))
    sys.modules[module.__name__] = module

names = {"__file__": recipe, "__name__": "recipe"}
exec(compile(open(recipe, encoding="utf-8").read(), recipe, "exec"), names)
cls = names["Petscspike"]
assert cls.git == "file://" + top, (cls.git, top)
needed = [args[0] for args, _ in said["depends_on"]]
assert any(n.startswith("petsc@3.") and "+shared" in n for n in needed), needed
assert "mpi" in needed and "gmake" in needed, needed
assert cls.homepage == cls.git, cls.homepage  # the project has no other address
header = open(top + "/include/petscspike.h", encoding="ascii").read()
number = dict(re.findall(r"#define PETSCSPIKE_VERSION_(\w+)\s+(\d+)", header))
number = "%(MAJOR)s.%(MINOR)s.%(SUBMINOR)s" % number
versions = {args[0]: kwargs for args, kwargs in said["version"]}
assert versions["main"] == {"branch": "main"} and versions[number] == {"tag": "v" + number}, versions
assert said["license"][0][0] == ("BSD-2-Clause",)
for cuda in (False, True):
    instance = cls()
    instance.spec, instance.prefix = Spec(cuda), prefix
    calls = [instance.build_targets, instance.install_targets]
    assert [c[0] for c in calls] == ["lib", "install"], calls
    assert any(a.startswith("CUDA_ARCH=") for a in calls[0]) == cuda
    for call in calls:
        # Spack's PETSc is a prefix install; the one at hand may have a PETSC_ARCH
        arguments = ["PETSC_ARCH=" + petsc_arch if a == "PETSC_ARCH=" else a for a in call]
        arguments.append("BASE=%s/build" % prefix)  # the build at hand is left alone
        done = subprocess.run(["make", "-n", "-C", top] + arguments, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert call[0] == "lib" or "'%s/include'" % prefix in done.stdout, done.stdout[-2000:]
print("ok")
