/* SPDX-License-Identifier: BSD-2-Clause */
/* matconvert.h: conversions of matrices by way of another type */
#pragma once

#include <petscmat.h>

PETSC_INTERN PetscErrorCode SpikeMatConvertBy(Mat, Mat, MatType, MatReuse, Mat *);
PETSC_INTERN void           SpikeMatConvertRenew(Mat, MatReuse, const Mat *);
PETSC_INTERN PetscErrorCode SpikeMatConvertEnd(Mat, Mat, MatReuse, Mat *);
