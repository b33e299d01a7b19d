/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fault.h: deliberate faults, by which the tests are tested (tests/faults.sh): -spike_test_fault NAME. Only a library
  that is compiled with SPIKE_TEST_FAULTS has them; in the others SpikeFaulty() is false and its code is gone.
*/
#pragma once

#include <petscsys.h>

#if defined(SPIKE_TEST_FAULTS)
typedef enum {
  SPIKE_FAULT_NONE,
  SPIKE_FAULT_NO_CORRECTION,  /* the window at the last interface is skipped        */
  SPIKE_FAULT_NO_REDUCED,     /* the first reduced system is not solved             */
  SPIKE_FAULT_LAST_PARTITION, /* the last partition is not swept                    */
  SPIKE_FAULT_SWAPPED_TIPS,   /* of an interface: Vb is taken for Wt                 */
  SPIKE_FAULT_STALE_FILL,     /* new values are not filled in                       */
  SPIKE_FAULT_STALE_TIPS,     /* tips of the values before                           */
  SPIKE_FAULT_STALE_REDUCED,  /* reduced systems of the values before               */
  SPIKE_FAULT_STALE_MESSAGE,  /* tips from other ranks are not taken over in applies */
  SPIKE_FAULT_NOT_TRANSPOSED, /* transposed applies are plain                       */
  SPIKE_FAULT_NOT_PERMUTED,   /* the result stays in the order of the band          */
  SPIKE_FAULT_NOT_PERIODIC,   /* corners of periodic systems are left out            */
  SPIKE_FAULT_NO_MERGED,      /* of full SPIKE: the way down to the partitions is left out */
  SPIKE_FAULT_NOT_FAILED,     /* zero pivots are accepted in silence                 */
  SPIKE_FAULTS
} SpikeFault;

PETSC_INTERN SpikeFault SpikeTestFault;

  #define SpikeFaulty(fault) PetscUnlikely(SpikeTestFault == (fault))
#else
  #define SpikeFaulty(fault) PETSC_FALSE
#endif
