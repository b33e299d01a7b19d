/* SPDX-License-Identifier: BSD-2-Clause */
/* assignment.h: an assignment problem of rows and columns, and the ways that matching.c takes to its solution */
#pragma once

#include <petscsys.h>
#include <math.h>

#define ASSIGNMENT_NONE ((double)PETSC_MAX_REAL) /* the cost of what is not there */

/* An entry that is not zero */
typedef struct {
  double   cost;
  PetscInt j;
} AssignmentEdge;

typedef struct {
  double   v;   /* dual variable           */
  PetscInt row; /* partner; -1: none       */
} AssignmentColumn;

/* A column in one search for a path: its distance, and the row that it was reached from */
typedef struct {
  double   dist;
  PetscInt from, place; /* place in the heap; -1: not reached, -2: settled, -3: leads nowhere */
} AssignmentReach;

/*
  Costs c_ij >= 0, duals with  c_ij - u_i - v_j >= 0,  = 0 for partners. Between the phases of an auction u is not
  known, and the difference of partners is at most that of the phase above the least one of their row
*/
typedef struct {
  PetscInt          n;
  PetscInt         *ai; /* [n + 1] edges of row i: ai[i] <= k < ai[i + 1] */
  AssignmentEdge   *edge;
  double           *u;
  PetscInt         *col;  /* partner of a row; -1: none                                         */
  PetscBool        *dead; /* rows that are known to have no partner in a matching that is taken */
  AssignmentColumn *column;
  AssignmentReach  *reach;
  PetscInt         *heap, nheap, *touched, ntouched; /* columns */
} Assignment;

/* assignmentauction.c */
PETSC_INTERN void AssignmentBid_Private(Assignment *, double eps, PetscInt passes);
PETSC_INTERN void AssignmentAuction_Private(Assignment *);

/* assignmentpath.c */
PETSC_INTERN PetscBool      AssignmentPaths_Private(Assignment *, PetscInt limit);
PETSC_INTERN PetscErrorCode AssignmentDeficient_Private(Assignment *);
