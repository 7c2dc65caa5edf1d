/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "codes.h"

static const char *mux(uint8_t subject)
{
	return subject == WORLD_LATE ? "the late mux" : "a current mux";
}

static void tell_step(FILE *out, struct world_step step)
{
	unsigned at = step.subject / CODES_SERVERS, subject = step.subject % CODES_SERVERS;

	switch ((enum codes_action)step.action) {
	case CODES_TIME:
		fprintf(out, "%d s pass", WORLD_TICK);
		break;
	case CODES_MOVE:
		fprintf(out, "bucket %u moves to %c", at, 'A' + (int)subject);
		break;
	case CODES_ARRAYS:
		fprintf(out, "new arrays give the connection bucket %u", step.subject);
		break;
	case CODES_DROP:
		fprintf(out, "the arrays before are dropped");
		break;
	case CODES_RENEW:
		fprintf(out, "the move of bucket %u is renewed, or the bucket kept", step.subject);
		break;
	case CODES_CATCH_UP:
		fprintf(out, "the late mux applies one generation");
		break;
	case CODES_PACKET:
		fprintf(out, "a packet of the connection comes by %s", mux(step.subject));
		break;
	case CODES_OTHER:
		fprintf(out, "another client's SYN in bucket %u comes by %s", at, mux((uint8_t)subject));
		break;
	case CODES_NEWS:
		fprintf(out, "%c sees the newest generation on a packet of another bucket", 'A' + step.subject);
		break;
	case CODES_NOTICE:
		fprintf(out, "%c gets a notice of generation %u", 'A' + (int)subject, at + 1);
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
	case CODES_DEATH:
		fprintf(out, "%c dies", 'A' + step.subject);
		break;
	case CODES_REMOVE:
		fprintf(out, "the dead server is removed, its buckets move to %c", 'A' + step.subject);
		break;
	case CODES_FORGET:
		fprintf(out, "%c forgets what it remembers", 'A' + step.subject);
		break;
	case CODES_SETTLE:
		fprintf(out, "all muxes are current and the client sends again and again");
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
	fprintf(out, "server A owns bucket 0, B bucket 1; the window is %d s\n", setting->window * WORLD_TICK);
	for (size_t i = 0; i < count; i++) {
		enum world_result result = codes_take(setting, &codes, steps[i]);

		tell_step(out, steps[i]);
		fprintf(out, "%s", ends[result]);
		if (result == WORLD_DELIVERED)
			fprintf(out, " at %c", 'A' + codes.home);
		if (steps[i].action == CODES_REPORT && codes.refused)
			fprintf(out, ": not believed");
		fprintf(out, "\n");
	}
	return fclose(out) ? NULL : text;
}
