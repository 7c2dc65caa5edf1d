/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process has applied of late, of all services: for whoever compares it with what was committed. The control
 * thread's alone.
 */
#ifndef MUX_APPLIED_H
#define MUX_APPLIED_H

#include <stdbool.h>
#include <stdint.h>

#include "config/service_config.h"

enum applied_limits {
	APPLIED_KEPT = 1024,              /* the latest; 100 KB */
	APPLIED_SUMMED_BUCKETS = 1 << 20, /* of larger rings no checksum: it takes 1 ms, and the largest one's 10 */
};

enum applied_how {
	APPLIED_SNAPSHOT, /* the ring was built anew */
	APPLIED_DELTA,    /* it follows the one before */
};

struct applied_entry {
	char service[SERVICE_NAME_MAX + 1];
	uint32_t generation;
	bool has_checksum;
	uint32_t checksum; /* ring_checksum() when it was applied */
	enum applied_how how;
	uint64_t at_ms; /* Unix milliseconds */
};

struct applied;

/* NULL: no memory. */
struct applied *applied_new(void);
void applied_free(struct applied *applied);

/* checksum NULL: the ring has more than APPLIED_SUMMED_BUCKETS. */
void applied_note(struct applied *applied, const char *service, uint32_t generation, const uint32_t *checksum,
		  enum applied_how how);

/* Entries have numbers from 1; those from first up to, not including, next are kept. */
uint64_t applied_first(const struct applied *applied);
uint64_t applied_next(const struct applied *applied);
const struct applied_entry *applied_get(const struct applied *applied, uint64_t number);

/* Drawn when the process began: numbers of another one say nothing about this one's. */
uint64_t applied_boot(const struct applied *applied);

#endif
