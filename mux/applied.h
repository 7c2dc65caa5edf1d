/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process has applied of late, of all services: for whoever compares it with what was committed. The control
 * thread's alone.
 */
#ifndef MUX_APPLIED_H
#define MUX_APPLIED_H

#include <stdint.h>

#include "service_config.h"

enum { APPLIED_KEPT = 1024 }; /* the latest; 100 KB */

enum applied_how {
	APPLIED_SNAPSHOT, /* the ring was built anew */
	APPLIED_DELTA,    /* it follows the one before */
};

struct applied_entry {
	char service[SERVICE_NAME_MAX + 1];
	uint32_t generation;
	uint32_t checksum; /* ring_checksum() when it was applied */
	enum applied_how how;
	uint64_t at_ms; /* Unix milliseconds */
};

struct applied;

/* NULL: no memory. */
struct applied *applied_new(void);
void applied_free(struct applied *applied);

void applied_note(struct applied *applied, const char *service, uint32_t generation, uint32_t checksum,
		  enum applied_how how);

/* Entries have numbers from 1; those from first up to, not including, next are kept. */
uint64_t applied_first(const struct applied *applied);
uint64_t applied_next(const struct applied *applied);
const struct applied_entry *applied_get(const struct applied *applied, uint64_t number);

/* Drawn when the process began: numbers of another one say nothing about this one's. */
uint64_t applied_boot(const struct applied *applied);

#endif
