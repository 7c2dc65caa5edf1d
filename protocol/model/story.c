/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <stdio.h>

static const char *mux(uint8_t subject)
{
	return subject == WORLD_LATE ? "the late mux" : "a current mux";
}

static void tell_setting(FILE *out, const struct world_setting *setting)
{
	static const char *const traffic[WORLD_TRAFFICS] = {
	    [WORLD_TCP] = "TCP",
	    [WORLD_CONNECTED] = "UDP, connected sockets",
	    [WORLD_FRAGMENTS] = "UDP, connected sockets, datagrams in two fragments",
	    [WORLD_DATAGRAMS] = "UDP, unconnected sockets",
	    [WORLD_BY_ID] = "QUIC, connection ids name the server",
	    [WORLD_STATELESS] = "UDP, stateless",
	};
	static const char *const absence[WORLD_ABSENCES] = {
	    [WORLD_PRESENT] = "",
	    [WORLD_ABSENT] = "; the late mux has no session",
	    [WORLD_LOST] = "; the late mux has no session and hears no other",
	};

	fprintf(out, "server A owns the bucket; %s%s%s", traffic[setting->traffic], setting->hold ? ", held" : "",
		absence[setting->absence]);
	for (unsigned s = 0; s < WORLD_SERVERS; s++)
		if (setting->clock_ticks[s])
			fprintf(out, "; the clock of %c is %+d s off", 'A' + s, setting->clock_ticks[s] * WORLD_TICK);
	fprintf(out, "\n");
}

static void tell_step(FILE *out, struct world_step step)
{
	switch ((enum world_action)step.action) {
	case WORLD_TIME:
		fprintf(out, "%d s pass", WORLD_TICK);
		break;
	case WORLD_MOVE:
		fprintf(out, "the bucket moves to %c", 'A' + step.subject);
		break;
	case WORLD_CATCH_UP:
		fprintf(out, "the late mux applies one generation");
		break;
	case WORLD_JUMP:
		fprintf(out, "the late mux loads a snapshot of the newest generation");
		break;
	case WORLD_PACKET:
		fprintf(out, "a packet of the connection comes by %s", mux(step.subject));
		break;
	case WORLD_OTHER:
		fprintf(out, "another client's SYN in the bucket comes by %s", mux(step.subject));
		break;
	case WORLD_NEWS:
		fprintf(out, "%c sees the newest generation on a packet of another bucket", 'A' + step.subject);
		break;
	case WORLD_NOTICE:
		fprintf(out, "%c gets a notice of generation %d", 'A' + step.subject % WORLD_SERVERS,
			step.subject / WORLD_SERVERS + 1);
		break;
	case WORLD_DEATH:
		fprintf(out, "%c dies", 'A' + step.subject);
		break;
	case WORLD_REMOVE:
		fprintf(out, "the dead server is removed");
		break;
	case WORLD_REPORT:
		fprintf(out, "all earlier owners report that they have no connection");
		break;
	case WORLD_RELEASE:
		fprintf(out, "the controller releases the bucket");
		break;
	case WORLD_EMPTY:
		fprintf(out, "%c reports that it has no connection: it is empty", 'A' + step.subject);
		break;
	case WORLD_OFF:
		fprintf(out, "the empty server is switched off");
		break;
	case WORLD_SETTLE:
		fprintf(out, "all muxes are current and the client sends again and again");
		break;
	}
}

static void tell_result(FILE *out, enum world_result result, const struct world *world)
{
	static const char *const ends[] = {
	    [WORLD_IDLE] = "",           [WORLD_DELIVERED] = ": delivered",      [WORLD_DROPPED] = ": dropped",
	    [WORLD_BROKEN] = ": broken", [WORLD_ENDED] = ": its server is dead",
	};

	fprintf(out, "%s", ends[result]);
	if (result == WORLD_DELIVERED)
		fprintf(out, " at %c", 'A' + world->home);
	fprintf(out, "\n");
}

char *story(const struct world_setting *setting, const struct world_step *steps, size_t count)
{
	struct world world = world_first();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	tell_setting(out, setting);
	for (size_t i = 0; i < count; i++) {
		enum world_result result = world_take(setting, &world, steps[i]);

		tell_step(out, steps[i]);
		tell_result(out, result, &world);
	}
	return fclose(out) ? NULL : text;
}
