/* SPDX-License-Identifier: Apache-2.0 */
#include "control/change_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

struct change_log {
	uint64_t boot;
	uint64_t next;
	struct change_log_entry entries[CHANGE_LOG_KEPT]; /* number n is at n % CHANGE_LOG_KEPT */
};

struct change_log *change_log_new(void)
{
	struct change_log *changes = calloc(1, sizeof(*changes));

	if (!changes)
		return NULL;
	if (getrandom(&changes->boot, sizeof(changes->boot), 0) != sizeof(changes->boot))
		changes->boot = (uint64_t)time(NULL);
	changes->next = 1;
	return changes;
}

void change_log_free(struct change_log *changes)
{
	free(changes);
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void change_log_note(struct change_log *changes, const char *service, uint32_t generation, uint64_t sum,
		     enum change_log_how how)
{
	struct change_log_entry *entry = &changes->entries[changes->next++ % CHANGE_LOG_KEPT];

	*entry = (struct change_log_entry){
	    .generation = generation,
	    .sum = sum,
	    .how = how,
	    .at_ms = clock_ms(),
	};
	snprintf(entry->service, sizeof(entry->service), "%s", service);
}

uint64_t change_log_first(const struct change_log *changes)
{
	return changes->next > CHANGE_LOG_KEPT ? changes->next - CHANGE_LOG_KEPT : 1;
}

uint64_t change_log_next(const struct change_log *changes)
{
	return changes->next;
}

const struct change_log_entry *change_log_get(const struct change_log *changes, uint64_t number)
{
	return &changes->entries[number % CHANGE_LOG_KEPT];
}

uint64_t change_log_boot(const struct change_log *changes)
{
	return changes->boot;
}
