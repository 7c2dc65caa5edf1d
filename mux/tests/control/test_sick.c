/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a sick mux withdraws: rows of the state machine over time, and a crowd of muxes that fall sick and get well at
 * any time, whose hellos take any time below SICK_LATE_MS or are lost, of which at least half always announce.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "control/service/sick.h"
#include "control/withdrawal/lag_quorum.h"

enum { START_MS = 1000000 };

/* A moment: what it has, whether enough others are left, and the state afterwards. */
struct moment {
	uint64_t at_ms;
	enum ailment ailment;
	enum sick_others others;
	enum sick_state state;
};

static void rows(void **state)
{
	static const struct {
		const char *name;
		struct moment moments[10];
	} rows[] = {
	    {"well", {{0, AILMENT_NONE, SICK_ENOUGH, SICK_WELL}, {900, AILMENT_NONE, SICK_ENOUGH, SICK_WELL}}},
	    {"alone", {{0, AILMENT_WORKER, SICK_FEW, SICK_WELL}, {60000, AILMENT_WORKER, SICK_FEW, SICK_WELL}}},
	    {"withdraws after it has asked, and returns when it has been well for long enough",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS - 1, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN},
	      {60000, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN},
	      {61000, AILMENT_NONE, SICK_ENOUGH, SICK_WITHDRAWN},
	      {61000 + SICK_WELL_MS - 1, AILMENT_NONE, SICK_ENOUGH, SICK_WITHDRAWN},
	      {61000 + SICK_WELL_MS, AILMENT_NONE, SICK_ENOUGH, SICK_WELL}}},
	    {"well while it asks",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS / 2, AILMENT_NONE, SICK_ENOUGH, SICK_WELL},
	      {SICK_ASK_MS, AILMENT_NONE, SICK_ENOUGH, SICK_WELL}}},
	    {"others ask too: it stays, and asks again later",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS, AILMENT_WORKER, SICK_FEW, SICK_WELL},
	      {SICK_ASK_MS + SICK_AGAIN_MIN_MS - 1, AILMENT_WORKER, SICK_ENOUGH, SICK_WELL},
	      {SICK_ASK_MS + SICK_AGAIN_MIN_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {2 * SICK_ASK_MS + SICK_AGAIN_MIN_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN}}},
	    {"the others have not answered yet",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS, AILMENT_WORKER, SICK_SILENT, SICK_ASKS},
	      {SICK_ASK_MS + SICK_SAY_MS - 1, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS + SICK_SAY_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN}}},
	    {"the others are silent: it stays",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_HEAR_MS - SICK_SAY_MS, AILMENT_WORKER, SICK_SILENT, SICK_ASKS},
	      {SICK_HEAR_MS, AILMENT_WORKER, SICK_SILENT, SICK_WELL},
	      {SICK_HEAR_MS + SICK_AGAIN_MIN_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS}}},
	    {"too few are left",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN},
	      {5000, AILMENT_WORKER, SICK_FEW, SICK_WELL}}},
	    {"an ailment that comes back starts the wait again",
	     {{0, AILMENT_WORKER, SICK_ENOUGH, SICK_ASKS},
	      {SICK_ASK_MS, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN},
	      {1000, AILMENT_NONE, SICK_ENOUGH, SICK_WITHDRAWN},
	      {4000, AILMENT_WORKER, SICK_ENOUGH, SICK_WITHDRAWN},
	      {5000, AILMENT_NONE, SICK_ENOUGH, SICK_WITHDRAWN},
	      {1000 + SICK_WELL_MS, AILMENT_NONE, SICK_ENOUGH, SICK_WITHDRAWN},
	      {5000 + SICK_WELL_MS, AILMENT_NONE, SICK_ENOUGH, SICK_WELL}}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sick sick = {0};

		for (size_t n = 0; n < 10 && (!n || rows[i].moments[n].at_ms); n++) {
			const struct moment *moment = &rows[i].moments[n];
			enum sick_state before = sick.state;
			bool changed = sick_run(&sick, moment->ailment, moment->others, START_MS + moment->at_ms, 0);

			if (sick.state != moment->state || changed != (before != sick.state))
				fail_msg("%s: at %u ms it is in state %d (changed %d)", rows[i].name,
					 (unsigned)moment->at_ms, sick.state, changed);
		}
	}
}

/* Each time it must be well for twice as long, up to a limit; after a long time announced, the first time again. */
static void returns_are_damped(void **state)
{
	struct sick sick = {0};
	uint64_t now = START_MS, wait = SICK_WELL_MS;

	(void)state;
	for (int n = 0; n < 12; n++) {
		sick_run(&sick, AILMENT_WORKER, SICK_ENOUGH, now, 0);
		sick_run(&sick, AILMENT_WORKER, SICK_ENOUGH, now += SICK_ASK_MS, 0);
		assert_int_equal(sick.state, SICK_WITHDRAWN);
		sick_run(&sick, AILMENT_NONE, SICK_ENOUGH, ++now, 0);
		assert_false(sick_run(&sick, AILMENT_NONE, SICK_ENOUGH, now + wait - 1, 0));
		assert_true(sick_run(&sick, AILMENT_NONE, SICK_ENOUGH, now += wait, 0));
		wait = 2 * wait < SICK_WELL_MAX_MS ? 2 * wait : SICK_WELL_MAX_MS;
		now += SICK_AGAIN_MIN_MS;
	}
	assert_int_equal(wait, SICK_WELL_MAX_MS);
	now += SICK_FORGET_MS;
	sick_run(&sick, AILMENT_WORKER, SICK_ENOUGH, now, 0);
	sick_run(&sick, AILMENT_WORKER, SICK_ENOUGH, now + SICK_ASK_MS, 0);
	assert_int_equal(sick_wait_ms(&sick), SICK_WELL_MS);
}

enum { MUXES_MAX = 7, STEP_MS = 10, INTERVAL_MS = 1000, ANSWER_MS = 40, CROWD_MS = 60000, CROWDS = 300 };

/* What one mux said last to another, and what is still on its way. */
struct word {
	bool is_on_way;
	uint64_t arrives_ms, heard_ms;
	bool announces, coming;
};

struct crowd {
	unsigned count;
	uint64_t now;
	struct sick sick[MUXES_MAX];
	enum ailment ailment[MUXES_MAX];
	uint64_t say_at[MUXES_MAX];
	unsigned lost;                           /* of 8 words */
	struct word words[MUXES_MAX][MUXES_MAX]; /* of the first, at the second */
};

static unsigned chance(unsigned *seed, unsigned most)
{
	return (unsigned)rand_r(seed) % most;
}

static enum sick_others others_of(const struct crowd *crowd, unsigned self)
{
	struct lag_quorum quorum;
	unsigned heard = 0;

	lag_quorum_start(&quorum);
	for (unsigned i = 0; i < crowd->count; i++) {
		const struct word *word = &crowd->words[i][self];
		struct lag_view view = {.generation = 1, .announces = word->announces, .is_behind = !word->announces};

		if (i == self)
			continue;
		lag_quorum_add(&quorum, &view, 0);
		heard += word->announces && word->heard_ms >= sick_hears_since(&crowd->sick[self]);
	}
	if (!lag_quorum_withdraws(&quorum))
		return SICK_FEW;
	quorum.ahead = heard;
	return lag_quorum_withdraws(&quorum) ? SICK_ENOUGH : SICK_SILENT;
}

static void say(struct crowd *crowd, unsigned self, unsigned *seed)
{
	for (unsigned i = 0; i < crowd->count; i++) {
		struct word *word = &crowd->words[self][i];

		if (chance(seed, 8) < crowd->lost || word->is_on_way) /* it overtakes none */
			continue;
		*word = (struct word){.is_on_way = true,
				      .arrives_ms = crowd->now + 1 + chance(seed, SICK_LATE_MS - STEP_MS - 1),
				      .heard_ms = word->heard_ms,
				      .announces = word->announces,
				      .coming = crowd->sick[self].state == SICK_WELL};
	}
	crowd->say_at[self] = crowd->now + (crowd->sick[self].state == SICK_ASKS ? SICK_SAY_MS : INTERVAL_MS);
}

static void step(struct crowd *crowd, unsigned *seed)
{
	unsigned announcing = 0;

	crowd->now += STEP_MS;
	for (unsigned i = 0; i < crowd->count; i++) {
		for (unsigned from = 0; from < crowd->count; from++) {
			struct word *word = &crowd->words[from][i];

			if (!word->is_on_way || crowd->now < word->arrives_ms)
				continue;
			if (word->announces && !word->coming && crowd->say_at[i] > crowd->now + ANSWER_MS)
				crowd->say_at[i] = crowd->now + ANSWER_MS;
			word->announces = word->coming;
			word->heard_ms = crowd->now;
			word->is_on_way = false;
		}
		if (sick_run(&crowd->sick[i], crowd->ailment[i], others_of(crowd, i), crowd->now,
			     chance(seed, 1U << 30)) ||
		    crowd->now >= crowd->say_at[i])
			say(crowd, i, seed);
		announcing += crowd->sick[i].state != SICK_WITHDRAWN;
	}
	if (2 * announcing < crowd->count)
		fail_msg("%u of %u muxes announce", announcing, crowd->count);
}

/* Muxes fall sick alone or all at once, perhaps in the moment in which many hellos or all are lost, and get well. */
static void at_least_half_stay(void **state)
{
	unsigned seed = 1, withdrawn = 0;

	(void)state;
	for (unsigned n = 0; n < CROWDS; n++) {
		struct crowd crowd = {.count = 2 + chance(&seed, MUXES_MAX - 1), .now = START_MS};

		for (unsigned i = 0; i < crowd.count; i++)
			for (unsigned to = 0; to < crowd.count; to++)
				crowd.words[i][to].announces = true;
		while (crowd.now < START_MS + CROWD_MS) {
			bool all = !chance(&seed, 1000);

			if (all)
				crowd.lost = chance(&seed, 9);
			else if (!chance(&seed, 200))
				crowd.lost = 0;
			for (unsigned i = 0; i < crowd.count; i++)
				if (all || !chance(&seed, 1000))
					crowd.ailment[i] = all || chance(&seed, 2) ? AILMENT_WORKER : AILMENT_NONE;
			step(&crowd, &seed);
		}
		for (unsigned i = 0; i < crowd.count; i++)
			withdrawn += crowd.sick[i].times > 0;
	}
	assert_true(withdrawn > CROWDS);
}

/* With the same cause at all, some withdraw and the rest stays. */
static void half_withdraw_if_all_are_sick(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (unsigned count = 2; count <= MUXES_MAX; count++) {
		struct crowd crowd = {.count = count, .now = START_MS};
		unsigned withdrawn = 0;

		for (unsigned i = 0; i < count; i++) {
			crowd.ailment[i] = AILMENT_WORKER;
			for (unsigned to = 0; to < count; to++)
				crowd.words[i][to].announces = true;
		}
		while (crowd.now < START_MS + CROWD_MS)
			step(&crowd, &seed);
		for (unsigned i = 0; i < count; i++)
			withdrawn += crowd.sick[i].state == SICK_WITHDRAWN;
		assert_int_equal(withdrawn, count / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows),
	    cmocka_unit_test(returns_are_damped),
	    cmocka_unit_test(at_least_half_stay),
	    cmocka_unit_test(half_withdraw_if_all_are_sick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
