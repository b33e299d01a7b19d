# SPDX-License-Identifier: BSD-2-Clause
"""petscprefix.py PETSC_DIR PETSC_ARCH PREFIX: installs a PETSc that was built in place, in seconds, by its own program.

`make install` of PETSc wants the prefix that configure was given. The program that it runs does the same here with
another one; examples are left out. What configure wrote with the place of the build gets that of the installation.
"""
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
petsc_dir, petsc_arch, prefix = sys.argv[1:4]
prefix = os.path.abspath(prefix)
os.environ.update(PETSC_DIR=petsc_dir, PETSC_ARCH=petsc_arch)
sys.path.insert(0, os.path.join(petsc_dir, "config"))
import install  # noqa: E402


class Installer(install.Installer):
    def setupDirectories(self):
        self.framework.argDB["prefix"] = prefix
        super().setupDirectories()


with tempfile.TemporaryDirectory() as work:  # it writes logs where it runs
    for name in ("config", "gmakefile.test"):
        os.symlink(os.path.join(petsc_dir, name), os.path.join(work, name))
    os.chdir(work)
    Installer(["-destDir=", "-no-examples"]).run()
    os.chdir(prefix)
for folder in ("include", "lib/pkgconfig", "lib/petsc/conf"):
    for file in pathlib.Path(folder).iterdir():
        if not file.is_file() or file.suffix == ".py":
            continue
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        new = text.replace(os.path.join(petsc_dir, petsc_arch), prefix).replace(petsc_dir, prefix)
        if new != text:
            file.write_text(new, encoding="utf-8", errors="surrogateescape")
