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

static void print_lists(const struct state *t, int g)
{
	printf(": list ");
	for (int b = 0; b < setting.buckets; b++)
		print_list(t->list[b][g]);
}

static const char *const endings[] = {[BROKEN] = "BROKEN", [DELIVERED] = "delivered", [DROPPED] = "dropped",
				      [SENT] = "sent on",  [ENDED] = "ended",         [IDLE] = "taken"};

static void print_path_result(const struct state *before, struct step step)
{
	struct state t = *before;
	struct flight p = packet_of(&t, step.arg & 3, step.arg >> 2 & 1, 0);
	enum result r = SENT;
	enum cause c;

	printf(" list ");
	print_list(p.path);
	printf(":");
	for (int i = 0; r == SENT; i++) {
		int s = list_at(p.path, 0);

		r = packet_hop(&t, &p, packet_how(step.arg >> 3, i), &c);
		printf(" %c%s %s%s", letter(s), s == t.dead ? "(dead)" : "", p.late ? "(LATE) " : "",
		       r == SENT ? "->" : endings[r]);
	}
}

#define ACTION(action, sentence) [action] = sentence,
static const char *const sentences[] = {MODEL_ACTIONS(ACTION)};
#undef ACTION

static void print_part(char part, const struct state *before, const struct state *after, uint8_t arg)
{
	const int mux = arg & 3;

	switch (part) {
	case 's':
		printf("%c", letter(arg));
		break;
	case 'S':
		printf("%c", letter(arg & 7));
		break;
	case 'b':
	case 'B':
		printf(setting.buckets == 1 ? "the bucket" : "bucket %d", (part == 'b' ? arg >> 3 : arg) + 1);
		break;
	case 'm':
		printf("%d", arg);
		break;
	case 'n':
		printf("%d", arg >> 3);
		break;
	case 'p':
		printf("%d", mux);
		break;
	case 'g':
		printf("%d", before->mux[mux]);
		break;
	case 'N':
		printf("%d", before->n);
		break;
	case 'l':
		print_lists(after, after->n);
		break;
	case 'L':
		print_lists(after, after->mux[arg]);
		break;
	default:
		printf("@%c", part);
	}
}

static void print_sent(const struct state *before, struct step step)
{
	struct flight p = packet_of(before, step.arg & 3, step.arg >> 2 & 1, 0);

	printf("%s%s%s", before->home == NONE && setting.traffic == TCP ? "SYN" : "packet",
	       step.arg >> 3 & BUSY ? " (busy)" : "", step.arg >> 3 & COOKIE ? " (answered by a cookie)" : "");
	if (!setting.flight) {
		print_path_result(before, step);
		return;
	}
	printf(", under way with list ");
	print_list(p.path);
}

static void print_hop(const struct state *before, struct step step)
{
	struct state t = *before;
	struct flight *p = &t.flight[step.arg & 7];
	int at = list_at(p->path, 0), kind = p->kind;
	enum cause c;
	enum result r = packet_hop(&t, p, step.arg >> 3, &c);

	printf("%s under way arrives at %c: %s%s", kind == K_SYN ? "SYN" : "packet", letter(at), endings[r],
	       r == SENT && p->late ? " with LATE" : "");
}

static void print_step(const struct state *before, struct step step)
{
	struct state after = *before;
	enum cause c;

	steps_take(&after, step, &c);
	printf("  ");
	for (const char *at = sentences[step.action]; *at; at++)
		if (*at == '@')
			print_part(*++at, before, &after, step.arg);
		else
			printf("%c", *at);
	if (step.action == A_SEND)
		print_sent(before, step);
	else if (step.action == A_HOP)
		print_hop(before, step);
	else if (step.action == A_SWITCH && before->home == before->empty)
		printf(": BROKEN");
	printf("\n");
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
