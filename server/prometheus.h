/* SPDX-License-Identifier: Apache-2.0 */
/* A server's document (document.h) in Prometheus' text format 0.0.4, for node_exporter's textfile collector. */
#ifndef FAIRLEAD_PROMETHEUS_H
#define FAIRLEAD_PROMETHEUS_H

#include <jansson.h>

/* Both forms have the same metrics. Every sample has the label interface, which is empty for the module. */
void prometheus_print(const json_t *document);

#endif
