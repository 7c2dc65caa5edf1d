/* SPDX-License-Identifier: Apache-2.0 */
/* The mux's figures in Prometheus' text format. */
#ifndef MUX_METRICS_H
#define MUX_METRICS_H

#include <stdio.h>

#include "observe/http.h"

void metrics_write(FILE *out, const struct http_sources *sources);

#endif
