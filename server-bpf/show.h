/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a running server: configuration, counters, memory. */
#ifndef FAIRLEAD_SHOW_H
#define FAIRLEAD_SHOW_H

#include <jansson.h>

#include "running.h"

enum show_format {
	SHOW_TABLE,
	SHOW_JSON,
};

/* Of a server that running_check() has found usable. Returns 0, or a negative errno and a printed sentence. */
int show_print(const struct running *running, enum show_format format);

/*
 * For the parts of a document that forms have in common: the configuration (peers is taken over; mode: "native",
 * "generic" or "module"), and a whole document, which is printed.
 */
json_t *show_config(const struct fl_server_config *config, json_t *peers, const char *mode);
void show_document(const json_t *document, enum show_format format);

#endif
