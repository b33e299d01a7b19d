/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedfactors.h: factors of the preconditioner in a lower precision, which the method wishes (common/wish.h).

  They do not limit what a solve reaches, but how fast it gets there. Factors of the whole matrix gain digits in each
  iteration: where the norm has not fallen by a hundred in six iterations they are given up, and the method starts again
  from the true residual with those in PetscScalar, whatever the products have: a setup takes about as long as five
  applications (benchmarks/results/spike.txt). Of other factors nothing is expected but that the norm is halved in a
  hundred iterations. They are given up, with the products, where the method breaks down, diverges or finds them
  indefinite, and where the true residual refutes its claims. The preconditioner keeps that in mind until its matrix has
  other values.

  Where the preconditioner has factors of the whole matrix, in any precision, products stay in PetscScalar: two or three
  are left, and the replacement of one residual is more than they would gain.
*/
#pragma once

#include "fused.h"

/* Whether a new start with factors in PetscScalar is due after iteration `it`, where a period of the method ends */
static inline PetscBool KSPFusedFactorsAreDue(const KSPFused *f, PetscInt it)
{
  return (PetscBool)(f->factors.due && it >= f->factors.due && f->run.since % f->graph.period == 0);
}

PETSC_INTERN PetscErrorCode KSPFusedAskFactors(KSP, PetscBool may);
PETSC_INTERN PetscErrorCode KSPFusedSetFactors(KSP, PetscBool may);
PETSC_INTERN PetscErrorCode KSPFusedLeaveFactors(KSP);
PETSC_INTERN void           KSPFusedBeginFactors(KSP, PetscReal norm);
PETSC_INTERN PetscErrorCode KSPFusedObserveFactors(KSP, const SpikeKrylovPost *);
PETSC_INTERN PetscErrorCode KSPFusedWidenFactors(KSP);
PETSC_INTERN PetscErrorCode KSPFusedFactorsView(KSP, PetscViewer);
