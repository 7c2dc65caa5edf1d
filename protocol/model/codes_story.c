/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "codes.h"

static void tell_step(FILE *out, struct world_step step)
{
	switch (step.action) {
	case CODES_ARRAYS:
		fprintf(out, "new arrays give the connection bucket %u", step.subject);
		break;
	case CODES_DROP:
		fprintf(out, "the arrays before are dropped");
		break;
	case CODES_RENEW:
		fprintf(out, "the move of bucket %u is renewed, or the bucket kept", step.subject);
		break;
	case CODES_PACKET:
		fprintf(out, "a packet of the connection comes by %s", pair_mux(step.subject));
		break;
	case CODES_REPORT:
		fprintf(out, "its server reports the connection");
		break;
	case CODES_LEADER:
		fprintf(out, "another controller leads");
		break;
	case CODES_SILENCE:
		fprintf(out, "the leader gives up waiting for the connection's agent");
		break;
	default:
		pair_tell_step(out, step);
		break;
	}
}

char *codes_story(const struct codes_setting *setting, const struct world_step *steps, size_t count)
{
	static const char *const ends[] = {
	    [WORLD_IDLE] = "",
	    [WORLD_DELIVERED] = ": delivered",
	    [WORLD_DROPPED] = ": dropped",
	    [WORLD_BROKEN] = ": broken",
	};
	struct codes codes = codes_first(setting);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "server A owns bucket 0, B bucket 1; the window is %d s%s\n", setting->pair.window * WORLD_TICK,
		setting->absence == WORLD_PRESENT ? "" : "; the late mux has no session");
	for (size_t i = 0; i < count; i++) {
		enum world_result result = codes_take(setting, &codes, steps[i]);

		tell_step(out, steps[i]);
		fprintf(out, "%s", ends[result]);
		if (result == WORLD_DELIVERED)
			fprintf(out, " at %c", 'A' + codes.pair.home);
		if (steps[i].action == CODES_REPORT && codes.refused)
			fprintf(out, ": not believed");
		fprintf(out, "\n");
	}
	return fclose(out) ? NULL : text;
}
