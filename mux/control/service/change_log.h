/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest generations of all services that this process has applied, to compare with the committed ones. Owned by
 * the control thread.
 */
#ifndef FAIRLEAD_MUX_CHANGE_LOG_H
#define FAIRLEAD_MUX_CHANGE_LOG_H

#include <stdint.h>

#include "config/service_config.h"

enum change_log_limits {
	CHANGE_LOG_KEPT = 1024, /* the latest; 100 KB */
};

enum change_log_how {
	CHANGE_LOG_SNAPSHOT, /* a new ring was built */
	CHANGE_LOG_DELTA,    /* it was applied to the previous generation */
};

struct change_log_entry {
	char service[SERVICE_NAME_MAX + 1];
	uint32_t generation;
	uint64_t sum; /* ring_sum() when it was applied */
	enum change_log_how how;
	uint64_t at_ms; /* Unix milliseconds */
};

struct change_log {
	uint64_t boot; /* at random for each process: entry numbers of different ones can't be compared */
	uint64_t
	    next; /* entries have numbers from 1; those from change_log_first() up to, not including, this are kept */
	struct change_log_entry entries[CHANGE_LOG_KEPT]; /* number n is at n % CHANGE_LOG_KEPT */
};

/* To be freed with free(). NULL: no memory. */
struct change_log *change_log_new(void);

void change_log_note(struct change_log *changes, const char *service, uint32_t generation, uint64_t sum,
		     enum change_log_how how);

static inline uint64_t change_log_first(const struct change_log *changes)
{
	return changes->next > CHANGE_LOG_KEPT ? changes->next - CHANGE_LOG_KEPT : 1;
}

#endif
