# SPDX-License-Identifier: BSD-2-Clause
"""What pyproject.toml cannot say: the version of the header, the PETSc that is needed, a wheel for this platform."""
import os
import sys

from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "python"))
import spikebuild


class LibraryDistribution(Distribution):
    """It has compiled code, though no extension module: the package belongs beside PETSc's."""

    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    """The library knows nothing of Python: one wheel for all its versions."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(
    version=spikebuild.version(),
    install_requires=spikebuild.run_requires(),
    distclass=LibraryDistribution,
    cmdclass={"bdist_wheel": PlatformWheel},
)
