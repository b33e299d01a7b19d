# SPDX-License-Identifier: BSD-2-Clause
"""registered.py: python -m petscspike asks PETSc for each name of the header, and tells those that are not there."""
import petsc4py

petsc4py.init()
from petsc4py import PETSc  # noqa: E402

import petscspike  # noqa: E402
from petscspike import __main__ as state  # noqa: E402

there, lacking = state.registered(PETSc, petscspike)
wanted = {"PC spike", "PC blockilu", "KSP bcgsfused", "KSP cgfused", "KSP idrfused", "Mat dia", "Mat gridstencil",
          "MatSolver spike", "MatOrdering lines"}
assert wanted <= set(there) and not lacking, (there, lacking)

# Names that this library lacks, one of each kind
names = dict(petscspike._header.strings())
invented = {"PCNOTHERE": "nothere", "KSPNOTHERE": "nothere", "MATNOTHERE": "nothere", "MATSOLVERNOTHERE": "nothere",
            "MATORDERINGNOTHERE": "nothere"}
petscspike._header.strings = lambda: {**names, **invented}
assert state.registered(PETSc, petscspike) == (there, [k + " nothere" for k in
                                                       ("KSP", "Mat", "MatOrdering", "MatSolver", "PC")])
assert state.main() == 1
print("registered: OK")
