/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "choices.h"

static void tell_step(FILE *out, struct world_step step)
{
	const char *mux = pair_mux(step.subject & 1);
	unsigned first = step.subject >> 1 & 1;

	switch (step.action) {
	case CHOICES_SYN:
		fprintf(out, "the client's SYN comes by %s, bucket %u first%s%s", mux, first,
			step.subject >> 2 & 1 ? ", whose owner is busy" : "",
			step.subject >> 3 ? "; the answer is a SYN cookie" : "");
		break;
	case CHOICES_TAKE:
		fprintf(out, "the client takes the SYN-ACK of %c", 'A' + step.subject);
		break;
	case CHOICES_SEGMENT:
		fprintf(out, "a segment of the connection comes by %s, bucket %u first", mux, first);
		break;
	case CHOICES_REPORT:
		fprintf(out, "all earlier owners of bucket %u report that they have no connection", step.subject);
		break;
	case CHOICES_RELEASE:
		fprintf(out, "the controller releases bucket %u", step.subject);
		break;
	default:
		pair_tell_step(out, step);
		break;
	}
}

char *choices_story(const struct choices_setting *setting, const struct world_step *steps, size_t count)
{
	static const char *const ends[] = {
	    [WORLD_IDLE] = "",
	    [WORLD_DELIVERED] = ": delivered",
	    [WORLD_DROPPED] = ": dropped",
	    [WORLD_BROKEN] = ": broken",
	};
	struct choices choices = choices_first(setting);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "server A owns bucket 0, %c bucket 1; the window is %d s\n", setting->same ? 'A' : 'B',
		setting->pair.window * WORLD_TICK);
	for (size_t i = 0; i < count; i++) {
		uint8_t end;
		enum world_result result = choices_take(setting, &choices, steps[i], &end);

		tell_step(out, steps[i]);
		fprintf(out, "%s", ends[result]);
		if (end != WORLD_NONE && result != WORLD_IDLE)
			fprintf(out, " at %c", 'A' + end);
		fprintf(out, "\n");
	}
	return fclose(out) ? NULL : text;
}
