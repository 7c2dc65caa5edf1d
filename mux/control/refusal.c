/* SPDX-License-Identifier: Apache-2.0 */
#include "control/refusal.h"

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

/* It may quote bytes that are not text, and the mux's node is JSON. */
static void copy_printable(char *out, size_t size, const char *text)
{
	size_t n = 0;

	for (; text[n] && n + 1 < size; n++)
		out[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
	out[n] = 0;
}

void refusal_open(struct refusal *refusal, const char *service, unsigned reason, uint32_t generation, const char *why)
{
	if (!refusal->is_open || refusal->reason != reason || refusal->generation != generation)
		fprintf(stderr, "mux event=refused service=%s reason=%s generation=%u why=\"%s\"\n", service,
			refusal_name(reason), generation, why);
	*refusal = (struct refusal){.is_open = true, .reason = reason, .generation = generation};
	copy_printable(refusal->why, sizeof(refusal->why), why);
}

bool refusal_close(struct refusal *refusal, const char *service, uint32_t generation)
{
	if (!refusal->is_open)
		return false;
	refusal->is_open = false;
	fprintf(stderr, "mux event=accepted service=%s generation=%u after=%s\n", service, generation,
		refusal_name(refusal->reason));
	return true;
}
