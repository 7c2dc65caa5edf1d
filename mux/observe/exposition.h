/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in Prometheus' text format, one at a time: first its head, then its samples. */
#ifndef FAIRLEAD_MUX_EXPOSITION_H
#define FAIRLEAD_MUX_EXPOSITION_H

#include <stdint.h>
#include <stdio.h>

struct exposition {
	FILE *out;
	const char *prefix;  /* of all names, such as "fairlead_mux" */
	const char *name;    /* of the metric that was begun last */
	const char *service; /* a label of samples, before their own; NULL: none */
};

/* type: "gauge" or "counter". */
void exposition_begin(struct exposition *to, const char *name, const char *type, const char *help);

/* A sample. label NULL: it has none of its own. */
void exposition_add(const struct exposition *to, const char *label, const char *value, uint64_t number);
void exposition_add_decimal(const struct exposition *to, const char *label, const char *value, double number);

/* A metric of one sample without labels. */
void exposition_write(struct exposition *to, const char *name, const char *type, const char *help, uint64_t number);

#endif
