/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/applied.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct applied {
	uint64_t boot;
	uint64_t next;
	struct applied_entry entries[APPLIED_KEPT]; /* number n stands at n % APPLIED_KEPT */
};

struct applied *applied_new(void)
{
	struct applied *applied = calloc(1, sizeof(*applied));

	if (!applied)
		return NULL;
	if (getrandom(&applied->boot, sizeof(applied->boot), 0) != sizeof(applied->boot))
		applied->boot = (uint64_t)time(NULL);
	applied->next = 1;
	return applied;
}

void applied_free(struct applied *applied)
{
	free(applied);
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void applied_note(struct applied *applied, const char *service, uint32_t generation, const uint32_t *checksum,
		  enum applied_how how)
{
	struct applied_entry *entry = &applied->entries[applied->next++ % APPLIED_KEPT];

	*entry = (struct applied_entry){
	    .generation = generation,
	    .has_checksum = checksum,
	    .checksum = checksum ? *checksum : 0,
	    .how = how,
	    .at_ms = clock_ms(),
	};
	snprintf(entry->service, sizeof(entry->service), "%s", service);
}

uint64_t applied_first(const struct applied *applied)
{
	return applied->next > APPLIED_KEPT ? applied->next - APPLIED_KEPT : 1;
}

uint64_t applied_next(const struct applied *applied)
{
	return applied->next;
}

const struct applied_entry *applied_get(const struct applied *applied, uint64_t number)
{
	return &applied->entries[number % APPLIED_KEPT];
}

uint64_t applied_boot(const struct applied *applied)
{
	return applied->boot;
}
