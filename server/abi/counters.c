// SPDX-License-Identifier: Apache-2.0
#include "counters.h"

#define NAME(NAME, name) [FL_COUNTER_##NAME] = (name),

const char *const fl_counter_names[FL_COUNTERS] = {FL_COUNTER_LIST(NAME)};
