/* SPDX-License-Identifier: BSD-2-Clause */
/* partitions.h: the cost model that chooses the number of partitions on a GPU; host C, without CUDA */
#pragma once

#include <petscsys.h>

/* What the choice depends on */
typedef struct {
  /* rows, half-bandwidths                                                                       */
  PetscInt n, kl, ku;
  /* of an entry of the factors                                                                  */
  PetscInt bytes;
  /* of the device                                                                               */
  PetscInt multiprocessors;
  /* natural logarithm of the factor by which spikes fall a row, as expected; 0 where unknown    */
  PetscReal falloff;
} SpikeShape;

/* Time model of np partitions, ms: a setup with new values, and an apply to one right-hand side */
typedef struct {
  PetscReal setup, apply;
} SpikeTimes;

PETSC_INTERN SpikeTimes SpikePartitionsTimes(const SpikeShape *, PetscInt np);
PETSC_INTERN SpikeTimes SpikePartitionsFullTimes(const SpikeShape *, PetscInt np);
PETSC_INTERN PetscReal  SpikePartitionsIterations(const SpikeShape *, PetscInt np);
PETSC_INTERN PetscInt   SpikePartitionsChoose(const SpikeShape *);
PETSC_INTERN PetscInt   SpikePartitionsChooseFull(const SpikeShape *);
PETSC_INTERN PetscInt   SpikePartitionsChooseAuto(const SpikeShape *, PetscBool *full);
