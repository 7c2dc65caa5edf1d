/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of hellos: which muxes are heard, what was refused, and how many are ahead. */
#ifndef FAIRLEAD_MUX_HELLO_METRICS_H
#define FAIRLEAD_MUX_HELLO_METRICS_H

#include <stdio.h>

#include "observe/sources.h"

/* from->hello is not NULL. */
void hello_metrics_write(FILE *out, const struct sources *from);

#endif
