/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/refusal.h"

#include <errno.h>
#include <stdio.h>

#include "ring/delta.h"

unsigned refusal_of(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return REFUSAL_VIP;
	case -EAFNOSUPPORT:
	case -ENOMEM:
	case -ENOSPC:
		return REFUSAL_UNSUPPORTED;
	default:
		return FL_DELTA_BACKEND;
	}
}

const char *refusal_name(unsigned reason)
{
	static const char *const names[] = {"missing", "number", "config", "unsupported",
					    "arrays",  "vip",    "loads",  "settled"};

	return reason < FL_DELTA_ERRORS ? delta_error_name((enum fl_delta_error)reason)
					: names[reason - FL_DELTA_ERRORS];
}

void refusal_make_printable(char *why)
{
	for (; *why; why++)
		if (*why < ' ' || *why > '~')
			*why = '?';
}

void refusal_open(struct refusal *refusal, const char *program, const char *service, unsigned reason,
		  uint32_t generation, const char *why)
{
	bool is_known = refusal->is_open && refusal->reason == reason && refusal->generation == generation;

	*refusal = (struct refusal){.is_open = true, .reason = reason, .generation = generation};
	snprintf(refusal->why, sizeof(refusal->why), "%s", why);
	refusal_make_printable(refusal->why);
	if (!is_known)
		fprintf(stderr, "%s event=refused service=%s reason=%s generation=%u why=\"%s\"\n", program, service,
			refusal_name(reason), generation, refusal->why);
}

bool refusal_close(struct refusal *refusal, const char *program, const char *service, uint32_t generation)
{
	if (!refusal->is_open)
		return false;
	refusal->is_open = false;
	fprintf(stderr, "%s event=accepted service=%s generation=%u after=%s\n", program, service, generation,
		refusal_name(refusal->reason));
	return true;
}
