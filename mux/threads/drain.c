/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/clock.h"

/* Packets for a VIP or from another mux, regardless of their verdict. */
static uint64_t arrived(const struct counters *counters)
{
	uint64_t packets = 0;

	for (int v = 0; v < VERDICTS; v++)
		if (v != VERDICT_NOT_OURS && v != VERDICT_FROM_KERNEL)
			packets += counters_packets(counters, (enum verdict)v);
	return packets;
}

/* Waits for DRAIN_LOOK_MS; true: another signal arrived. */
static bool interrupted(const sigset_t *signals)
{
	const struct timespec look = {.tv_nsec = DRAIN_LOOK_MS * 1000000L};

	return sigtimedwait(signals, NULL, &look) > 0;
}

void drain_run(struct control_thread *control, const struct mux *mux, const sigset_t *signals, int which)
{
	bool announces = mux->options->announce != ANNOUNCE_NONE;
	uint64_t wait = announces ? (uint64_t)mux->options->withdraw_wait * 1000 : 0;
	uint64_t begin = clock_ms(), until = begin + wait, last = until, now = begin;
	uint64_t at_begin = arrived(mux->counters), at_until = at_begin, seen = at_begin;
	bool cut = false, quiet = false;

	fprintf(stderr, "mux event=stopping signal=%s withdraw_wait_s=%u drain_s=%u\n", sigabbrev_np(which),
		announces ? mux->options->withdraw_wait : 0, mux->options->drain);
	control_thread_leave(control);
	while (!cut && now < until) {
		cut = interrupted(signals);
		now = clock_ms();
	}
	at_until = seen = arrived(mux->counters);
	until = now + (uint64_t)mux->options->drain * 1000;
	last = now;
	while (!cut && !quiet && now < until) {
		uint64_t packets;

		cut = interrupted(signals);
		now = clock_ms();
		packets = arrived(mux->counters);
		if (packets != seen)
			last = now;
		seen = packets;
		quiet = now - last >= DRAIN_QUIET_MS;
	}
	fprintf(stderr,
		"mux event=drained ms=%" PRIu64 " packets_while_routers_learn=%" PRIu64 " packets_later=%" PRIu64
		" end=%s\n",
		now - begin, at_until - at_begin, seen - at_until,
		cut     ? "signal"
		: quiet ? "quiet"
			: "limit");
}
