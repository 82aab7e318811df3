#ifndef ZKFLOCK_DOCTOR_ENSEMBLE_H
#define ZKFLOCK_DOCTOR_ENSEMBLE_H

#include "views/findings.h"

void doctor_check_ensemble (Doctor *doctor);

#endif
