/* SPDX-License-Identifier: Apache-2.0 */
#include "state/state_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char ring_end[] = ".service", arrays_end[] = ".arrays";

void state_name_of_ring(const char *service, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s%s", service, ring_end);
}

void state_name_of_arrays(const char *service, uint32_t generation, uint32_t checksum, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s.%" PRIu32 "-%08" PRIx32 "%s", service, generation, checksum, arrays_end);
}

void state_name_of_unfinished_arrays(const char *service, char out[STATE_NAME_MAX + 1])
{
	snprintf(out, STATE_NAME_MAX + 1, "%s%s", service, arrays_end);
}

/* The first len characters of a name, if they can be a service's. */
static bool take_service(const char *name, size_t len, char service[SERVICE_NAME_MAX + 1])
{
	if (!len || len > SERVICE_NAME_MAX)
		return false;
	memcpy(service, name, len);
	service[len] = 0;
	return true;
}

static bool has_end(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

bool state_name_is_ring(const char *name, char service[SERVICE_NAME_MAX + 1])
{
	return has_end(name, ring_end) && take_service(name, strlen(name) - strlen(ring_end), service);
}

bool state_name_is_arrays(const char *name, char service[SERVICE_NAME_MAX + 1])
{
	return has_end(name, arrays_end) && take_service(name, strcspn(name, "."), service);
}
