/* SPDX-License-Identifier: BSD-2-Clause */
/* main.cpp: petscspike from C++, for tests/consumers.sh */
#include <petscspike.h>

int main(int argc, char **argv)
{
  PC          pc;
  PetscInt    kl = 0, ku = 0;
  PCSpikeType type;

  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetBandwidth(pc, 3, 4));
  PetscCall(PCSpikeGetBandwidth(pc, &kl, &ku));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
  PetscCall(PCSpikeGetType(pc, &type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solved with spike: %s\n",
                        kl == 3 && ku == 4 && type == PC_SPIKE_FULL ? "right" : "WRONG"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFinalize());
  return 0;
}
