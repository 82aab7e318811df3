#ifndef ZKFLOCK_DOCTOR_SECURITY_H
#define ZKFLOCK_DOCTOR_SECURITY_H

#include "views/findings.h"

void doctor_check_security (Doctor *doctor);

#endif
