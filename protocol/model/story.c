/* SPDX-License-Identifier: Apache-2.0 */
/* A sequence of steps in words. */
#include "story.h"

#include <stdio.h>
#include <string.h>

static char letter(int s)
{
	return s == NONE ? '-' : (char)('A' + s);
}

static void print_list(uint16_t l)
{
	printf("[");
	for (; l; l >>= 3)
		printf("%c%s", letter((l & 7) - 1), l >> 3 ? " " : "");
	printf("]");
}

static const char *ending(enum result result)
{
	switch (result) {
	case BROKEN:
		return "BROKEN";
	case DELIVERED:
		return "delivered";
	case DROPPED:
		return "dropped";
	case SENT:
		return "sent on";
	case ENDED:
		return "ended";
	default:
		return "taken";
	}
}

static void print_path_result(const struct state *before, struct step step)
{
	struct state t = *before;
	struct flight p = packet_of(&t, step.arg & 3, step.arg >> 2 & 1, 0);
	unsigned how = step.arg >> 3, rest = how & (BUSY | COOKIE);
	enum result r = SENT;
	enum cause c;

	printf(" list ");
	print_list(p.path);
	printf(":");
	for (int i = 0; r == SENT; i++) {
		int s = list_at(p.path, 0);

		r = packet_hop(&t, &p,
			       i == 0   ? how & (unsigned)~SKIP2
			       : i == 1 ? rest | (how & SKIP2 ? SKIP : 0)
					: rest,
			       &c);
		printf(" %c%s %s%s", letter(s), s == t.dead ? "(dead)" : "", p.late ? "(LATE) " : "",
		       r == SENT ? "->" : ending(r));
	}
	printf("\n");
}

static void print_step(const struct state *before, struct step step)
{
	int b = step.arg >> 3, s = step.arg & 7, g = before->n;
	const char *bucket = setting.buckets == 1 ? "the bucket" : b ? "bucket 2" : "bucket 1";
	struct state t = *before;
	enum cause c;

	if (step.action != A_SEND && step.action != A_HOP)
		steps_take(&t, step, &c);
	printf("  ");
	switch ((enum action)step.action) {
	case A_MOVE:
		printf("%s moves to %c: list ", bucket, letter(s));
		print_list(t.list[b][t.n]);
		printf("\n");
		break;
	case A_CLOSE:
		b = step.arg;
		printf("the window of %s's oldest entry is over: list ", setting.buckets == 1 ? "the bucket"
									 : b                  ? "bucket 2"
											      : "bucket 1");
		print_list(t.list[b][t.n]);
		printf("\n");
		break;
	case A_REPORT:
		printf("%c reports no connection of %s, and it counts\n", letter(s), bucket);
		break;
	case A_RELEASE:
		printf("%c is released from %s: list ", letter(s), bucket);
		print_list(t.list[b][t.n]);
		printf("\n");
		break;
	case A_DEATH:
		printf("%c dies\n", letter(step.arg));
		break;
	case A_REMOVE:
		printf("the dead server is removed: list ");
		for (int x = 0; x < setting.buckets; x++)
			print_list(t.list[x][t.n]);
		printf("\n");
		break;
	case A_APPLY:
		printf("mux %d applies the next generation: list ", step.arg);
		for (int x = 0; x < setting.buckets; x++)
			print_list(t.list[x][t.mux[step.arg]]);
		printf("\n");
		break;
	case A_JUMP:
		printf("mux %d loads a snapshot of the newest\n", step.arg);
		break;
	case A_AWAY:
		printf("mux %d withdraws, being behind\n", step.arg);
		break;
	case A_BACK:
		printf("mux %d is back, with the newest\n", step.arg);
		break;
	case A_NOTICE:
		printf("%c gets the notice of generation +%d of +%d\n", letter(s), b, g);
		break;
	case A_NEWS:
		printf("%c learns the muxes' highest generation by another packet\n", letter(step.arg));
		break;
	case A_REPEAT:
		printf("%c gets the repeated notice\n", letter(step.arg));
		break;
	case A_CALM:
		printf("%c's quiet time is over\n", letter(step.arg));
		break;
	case A_RESTART:
		printf("%c's packet path restarts and forgets the generation\n", letter(step.arg));
		break;
	case A_REVIVE:
		printf("the dead server is back\n");
		break;
	case A_SEND:
		printf("mux %d (generation +%d of +%d) sends a %s%s%s", step.arg & 3, before->mux[step.arg & 3], g,
		       before->home == NONE && setting.traffic == TCP ? "SYN" : "packet",
		       step.arg >> 3 & BUSY ? " (busy)" : "", step.arg >> 3 & COOKIE ? " (answered by a cookie)" : "");
		if (setting.flight) {
			struct flight p = packet_of(before, step.arg & 3, step.arg >> 2 & 1, 0);

			printf(", under way with list ");
			print_list(p.path);
			printf("\n");
		} else {
			print_path_result(before, step);
		}
		break;
	case A_HOP: {
		struct flight *p = &t.flight[step.arg & 7];
		int at = list_at(p->path, 0), kind = p->kind;
		enum result r = packet_hop(&t, p, step.arg >> 3, &c);

		printf("the %s under way arrives at %c: %s%s\n", kind == K_SYN ? "SYN" : "packet", letter(at),
		       ending(r), r == SENT && p->late ? " with LATE" : "");
		break;
	}
	case A_LOSE:
		printf("the packet under way is lost\n");
		break;
	case A_TAKE:
		printf("the client continues with %c\n", letter(step.arg));
		break;
	case A_ARRAYS:
		printf("new arrays: the connection's bucket is %d now, and %d by those before\n", step.arg + 1,
		       (before->code[g] & 1) + 1);
		break;
	case A_DROP:
		printf("the arrays before are dropped\n");
		break;
	case A_KNOW:
		printf("the controller is told of the connection\n");
		break;
	case A_END:
		printf("%c's entry in %s ends: list ", letter(s), bucket);
		print_list(t.list[b][t.n]);
		printf("\n");
		break;
	case A_SHORT:
		printf(
		    "mux %d (generation +%d), whose clock says that the %d oldest entries are over, sends a packet\n",
		    step.arg & 3, before->mux[step.arg & 3], step.arg >> 3);
		break;
	case A_TORN:
		printf("mux %d, which is applying generation +%d, sends a packet with its list and the number before\n",
		       step.arg & 3, before->mux[step.arg & 3] + 1);
		break;
	case A_DEADLINE:
		printf("the deadline of %c's drain is over, and it is removed: list ", letter(step.arg));
		for (int x = 0; x < setting.buckets; x++)
			print_list(t.list[x][t.n]);
		printf("\n");
		break;
	case A_LEAVE:
		printf("%c is removed from the pool\n", letter(step.arg));
		break;
	case A_HUSH:
		printf("mux %d's notice ends %c's quiet time\n", step.arg >> 3, letter(s));
		break;
	case A_SAVE:
		printf("mux %d has what it has applied in its file\n", step.arg);
		break;
	case A_FALL:
		printf("mux %d restarts from its file\n", step.arg);
		break;
	case A_RETURN:
		printf("mux %d announces again what it had withdrawn\n", step.arg);
		break;
	case A_HOLD:
		printf("a hold begins\n");
		break;
	case A_RESTORE:
		printf("a backup is restored: list ");
		for (int x = 0; x < setting.buckets; x++)
			print_list(t.list[x][t.n]);
		printf("\n");
		break;
	case A_EXPIRE:
		printf("%c's half-open copy expires\n", letter(step.arg));
		break;
	case A_EMPTY:
		printf("%c is said to be empty\n", letter(step.arg));
		break;
	case A_SWITCH:
		printf("the empty server is switched off%s\n", before->home == before->empty ? ": BROKEN" : "");
		break;
	}
}

/* Finds what led to a visited state, prints it and takes it. */
static bool tell_step(struct state *now, const uint8_t *packed)
{
	struct step steps[STEPS_MAX];
	unsigned n = steps_of(now, steps);

	for (unsigned i = 0; i < n; i++) {
		struct state t = *now;
		enum cause c;
		enum result r = steps_take(&t, steps[i], &c);

		if (r == BROKEN || r == ENDED || !search_is(&t, packed))
			continue;
		print_step(now, steps[i]);
		*now = t;
		state_cut(now);
		return true;
	}
	return false;
}

/* Prints any step that breaks with this cause. */
static void tell_end(const struct state *now, enum cause which)
{
	struct step steps[STEPS_MAX];
	unsigned n = steps_of(now, steps);

	for (unsigned i = 0; i < n; i++) {
		struct state t = *now;
		enum cause c;

		if (steps_take(&t, steps[i], &c) == BROKEN && c == which) {
			print_step(now, steps[i]);
			return;
		}
	}
}

static void print_first(const struct state *first)
{
	printf("\n  ");
	print_list(first->list[0][0]);
	if (setting.buckets == 2)
		print_list(first->list[1][0]);
	printf(" %d servers, %d muxes\n", setting.servers, setting.muxes);
}

static void print_settled(void)
{
	printf("  all muxes are current and the client sends again and again: BROKEN, never delivered\n");
}

void story_tell(const struct tally *tally, enum cause which)
{
	uint32_t way[STORY_MAX];
	unsigned n = 0;
	struct state now = state_first();

	for (uint32_t i = tally->example[which]; i && n < STORY_MAX; memcpy(&i, search_node(i), 4))
		way[n++] = i;
	print_first(&now);
	while (n--)
		if (!tell_step(&now, search_node(way[n]) + 4)) {
			printf("  (?)\n"); /* names were exchanged on the way: --plain on */
			return;
		}
	if (tally->example_step[which].action == SEARCH_SETTLED)
		print_settled();
	else
		tell_end(&now, which);
}

void story_walk(const struct tally *tally, const struct step *steps, unsigned n)
{
	struct state now = state_first();
	enum cause c;

	print_first(&now);
	for (unsigned i = 0; i < n; i++) {
		print_step(&now, steps[i]);
		steps_take(&now, steps[i], &c);
		state_cut(&now);
	}
	if (tally->unsettled)
		print_settled();
}
