#pragma once

#include "views/findings.h"

void doctor_check_ensemble (Doctor *doctor);
