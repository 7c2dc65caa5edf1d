/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/change_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "config/clock.h"

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

void change_log_note(struct change_log *changes, const char *service, uint32_t generation, uint64_t sum,
		     enum change_log_how how)
{
	struct change_log_entry *entry = &changes->entries[changes->next++ % CHANGE_LOG_KEPT];

	*entry = (struct change_log_entry){
	    .generation = generation,
	    .sum = sum,
	    .how = how,
	    .at_ms = clock_unix_ms(),
	};
	snprintf(entry->service, sizeof(entry->service), "%s", service);
}
