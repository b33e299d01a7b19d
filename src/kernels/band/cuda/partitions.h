/* SPDX-License-Identifier: BSD-2-Clause */
/* partitions.h: the cost model that chooses the number of partitions on a GPU; host C, without CUDA */
#pragma once

#include <petscspike.h>

/*
  How many times as long as on the device that the constants of the model were measured on a launch takes, a byte of the
  device's memory, and a step that needs the one before (pace.cu)
*/
typedef struct {
  PetscReal launch, memory, step;
} SpikePace;

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
  /* fraction of a tip that truncation may leave out, where the coupling is open                 */
  PetscReal neglect;
  SpikePace pace;
  /* partitions that the device factors at once, by clusters of thread blocks; 0: not by clusters */
  PetscInt clusters;
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
PETSC_INTERN PetscInt   SpikePartitionsExchange(const SpikeShape *, PCSpikeType, PetscInt np);

/*
  The pace of the device called `name`, kept in a file for later processes; *known <- whether there is one. Files that
  cannot be read or written are none
*/
PETSC_INTERN PetscErrorCode SpikePaceRead(const char name[], SpikePace *, PetscBool *known);
PETSC_INTERN PetscErrorCode SpikePaceWrite(const char name[], const SpikePace *);
