/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Whether a server takes a new connection that another server would take as well: one source for the XDP program, the
 * kernel module and userspace. The policies are 6LB's (Desmouceaux et al., ToN 2018, Algorithms 1 and 2):
 *
 *	always	 takes everything
 *	static	 takes what comes while its work is below the threshold c
 *	dynamic	 the same, and moves c so that it takes half of what it is offered: after each window of offers, one up
 *		 if it took less than 1/2 - epsilon of them, one down if it took more than 1/2 + epsilon
 *
 * c stays at 1 or more, where the paper's falls to 0: an idle server then refuses the next 50 connections. Nor has it
 * a most: the form does not know how many workers there are. It starts again when the setting's threshold changes, and
 * when the service has had another policy.
 *
 * The agent writes a setting with each of its readings. The work is the reading and what the server has taken since,
 * offered or not. A setting has an end: if the agent stops, the server takes everything.
 *
 * All CPUs share a service's state. A SYN changes one number, atomically: windows and readings are marks in those
 * numbers, set by the CPU that first sees the end of one. Another CPU may meanwhile see a new reading with the old mark,
 * or the two halves of two settings: one decision may be another, and either is right.
 */
#ifndef FAIRLEAD_LOAD_H
#define FAIRLEAD_LOAD_H

#include <fairlead/types.h>

enum fl_load_policy {
	FL_LOAD_ALWAYS = 0,
	FL_LOAD_STATIC,
	FL_LOAD_DYNAMIC,
	FL_LOAD_POLICIES,
};

enum fl_load_numbers {
	FL_LOAD_HALF = 500, /* thousandths of the offers, which dynamic aims at */
	FL_LOAD_WHOLE = 1000,
	FL_LOAD_THRESHOLD_MAX = 65535, /* of a setting; at least 1 */
	FL_LOAD_WINDOW_MIN = 10,
	FL_LOAD_WINDOW_MAX = 1000,
	FL_LOAD_SINCE_MAX = 0x7fffffff, /* of a difference of numbers that wrap: more is less than 0 */
};

/* Of a service, written by the agent. All zero: it takes everything, and counts nothing. */
struct fl_load_setting {
	fl_u64 until_ns;  /* CLOCK_MONOTONIC: from then on it counts for nothing */
	fl_u32 busy;      /* work at the reading */
	fl_u32 threshold; /* c; dynamic: where c begins */
	fl_u32 window;    /* offers after which dynamic moves c */
	fl_u32 epsilon;   /* thousandths, below FL_LOAD_HALF */
	fl_u32 sequence;  /* another one with each reading */
	fl_u32 policy;    /* enum fl_load_policy; what is none of it takes everything */
};

_Static_assert(sizeof(struct fl_load_setting) == 32, "the value of a map, and of a netlink attribute");

/* Of a service, kept by the form. All zero: nothing has been offered. */
struct fl_load_state {
	fl_u64 taken;         /* SYNs offered and accepted while the setting counted */
	fl_u64 passed;        /* SYNs offered and refused */
	fl_u64 unasked;       /* SYNs taken that were not offered: no other server would have taken them */
	fl_u64 window_offers; /* offers when this window began */
	fl_u64 window_taken;  /* the same of taken */
	fl_u32 reading_taken; /* the last bits of fl_load_all_taken() at the reading */
	fl_u32 sequence;      /* of that reading */
	fl_u32 threshold;     /* dynamic's present c; 0: it has not begun */
	fl_u32 begun_at;      /* the setting's threshold from which dynamic began */
};

_Static_assert(sizeof(struct fl_load_state) == 56, "the value of a map, and of a netlink attribute");

/* Reads what other CPUs write. */
#define FL_LOAD_READ(number) (*(const volatile __typeof__(number) *)&(number))

FL_INLINE bool fl_load_is_armed(const struct fl_load_setting *setting, fl_u64 now_ns)
{
	return now_ns < FL_LOAD_READ(setting->until_ns);
}

/* SYNs that were offered: that another server would have taken, too. */
FL_INLINE fl_u64 fl_load_offered(const struct fl_load_state *state)
{
	return FL_LOAD_READ(state->taken) + FL_LOAD_READ(state->passed);
}

FL_INLINE fl_u64 fl_load_all_taken(const struct fl_load_state *state)
{
	return FL_LOAD_READ(state->taken) + FL_LOAD_READ(state->unasked);
}

/*
 * Marks where a new reading begins, and ends what dynamic learned if it is not the policy any more; to be called before
 * anything is counted or decided.
 */
FL_INLINE void fl_load_mark_reading(const struct fl_load_setting *setting, struct fl_load_state *state)
{
	fl_u32 taken = (fl_u32)fl_load_all_taken(state), sequence = FL_LOAD_READ(setting->sequence);
	fl_u32 before = FL_LOAD_READ(state->sequence);

	if (before != sequence && __sync_val_compare_and_swap(&state->sequence, before, sequence) == before)
		state->reading_taken = taken;
	if (FL_LOAD_READ(state->threshold) && setting->policy != FL_LOAD_DYNAMIC)
		state->threshold = 0;
}

/* SYNs taken since the reading; 0 if another CPU has just marked a newer one. */
FL_INLINE fl_u32 fl_load_since_reading(const struct fl_load_state *state)
{
	fl_u32 since = (fl_u32)fl_load_all_taken(state) - FL_LOAD_READ(state->reading_taken);

	return since <= FL_LOAD_SINCE_MAX ? since : 0;
}

/* The threshold that counts now. */
FL_INLINE fl_u32 fl_load_threshold(const struct fl_load_setting *setting, const struct fl_load_state *state)
{
	fl_u32 moved = FL_LOAD_READ(state->threshold);
	bool counts = setting->policy == FL_LOAD_DYNAMIC && FL_LOAD_READ(state->begun_at) == setting->threshold;

	return counts && moved ? moved : setting->threshold;
}

/* Moves dynamic's threshold if the SYN that is offered now is the last of its window; it then begins the next one. */
FL_INLINE void fl_load_adapt(const struct fl_load_setting *setting, struct fl_load_state *state)
{
	fl_u64 mark = FL_LOAD_READ(state->window_offers), offered = fl_load_offered(state);
	fl_u64 taken, attempts = offered + 1 - mark;
	fl_u32 threshold = fl_load_threshold(setting, state);

	/* The mark may be ahead by what was not counted after all, and by other CPUs' offers. */
	if (offered < mark || attempts < setting->window ||
	    __sync_val_compare_and_swap(&state->window_offers, mark, offered + 1) != mark)
		return;
	taken = FL_LOAD_READ(state->taken) - state->window_taken;
	if (taken * FL_LOAD_WHOLE < attempts * (FL_LOAD_HALF - setting->epsilon))
		threshold++;
	else if (taken * FL_LOAD_WHOLE > attempts * (FL_LOAD_HALF + setting->epsilon) && threshold > 1)
		threshold--;
	state->window_taken += taken;
	state->begun_at = setting->threshold;
	state->threshold = threshold;
}

/* Whether the policy would refuse a SYN that is offered now, if the setting has not ended. */
FL_INLINE bool fl_load_is_busy(const struct fl_load_setting *setting, struct fl_load_state *state)
{
	fl_load_mark_reading(setting, state);
	if (setting->policy == FL_LOAD_DYNAMIC)
		fl_load_adapt(setting, state);
	else if (setting->policy != FL_LOAD_STATIC)
		return false;
	return (fl_u64)setting->busy + fl_load_since_reading(state) >= fl_load_threshold(setting, state);
}

/*
 * Whether the policy refuses a SYN that is offered now. The caller then counts it as taken or passed on, or not at all
 * if it was no offer after all.
 */
FL_INLINE bool fl_load_refuses(const struct fl_load_setting *setting, struct fl_load_state *state, fl_u64 now_ns)
{
	return fl_load_is_armed(setting, now_ns) && fl_load_is_busy(setting, state);
}

/* The three count SYNs of a service whose setting is armed. */
FL_INLINE void fl_load_count_taken(struct fl_load_state *state)
{
	__sync_fetch_and_add(&state->taken, 1);
}

FL_INLINE void fl_load_count_passed(struct fl_load_state *state)
{
	__sync_fetch_and_add(&state->passed, 1);
}

/* For a SYN that was not offered. */
FL_INLINE void fl_load_count_unasked(const struct fl_load_setting *setting, struct fl_load_state *state)
{
	fl_load_mark_reading(setting, state);
	__sync_fetch_and_add(&state->unasked, 1);
}

#endif
