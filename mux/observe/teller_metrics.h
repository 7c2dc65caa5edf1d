/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIRLEAD_MUX_TELLER_METRICS_H
#define FAIRLEAD_MUX_TELLER_METRICS_H

#include <stdio.h>

struct teller;

/* Writes the metrics of notices. */
void teller_metrics_write(FILE *out, const struct teller *teller);

#endif
