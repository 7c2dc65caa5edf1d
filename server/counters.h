/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the counters, as `fairlead-server show` and the tests know them. */
#ifndef FAIRLEAD_COUNTERS_H
#define FAIRLEAD_COUNTERS_H

#include "server.h"

extern const char *const fl_counter_names[FL_COUNTERS];

#endif
