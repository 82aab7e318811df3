#pragma once

#include "views/findings.h"

void doctor_check_security (Doctor *doctor);
