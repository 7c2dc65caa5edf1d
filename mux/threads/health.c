/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/health.h"

#include <stdio.h>
#include <unistd.h>

#include <rte_ethdev.h>

void health_begin(struct health *health, const struct beat *beats, unsigned workers, const struct ports *ports)
{
	*health = (struct health){.beats = beats, .workers = workers, .ports = ports};
}

uint64_t health_deadline(const struct health *health)
{
	return health->beats ? health->look_at : UINT64_MAX;
}

/* Packets that a queue has accepted; of the whole port, where the driver counts no queues. */
static uint64_t accepted(const struct port *port, unsigned queue)
{
	struct rte_eth_stats stats = {0};

	if (rte_eth_stats_get(port->id, &stats))
		return 0;
	return queue < RTE_ETHDEV_QUEUE_STAT_CNTRS && stats.q_opackets[queue] ? stats.q_opackets[queue]
									      : stats.opackets;
}

static bool is_stuck(struct stuck *stuck, const struct beat *beat, const struct port *port, unsigned queue,
		     uint64_t now_ms)
{
	uint64_t refused = __atomic_load_n(&beat->refused[port->id], __ATOMIC_RELAXED);

	return stuck_judge(stuck, refused, stuck_asks(stuck, refused) ? accepted(port, queue) : 0, now_ms);
}

/* The first ailment that is found, and what exactly. */
static enum ailment look(struct health *health, uint64_t now_ms, char *detail, size_t size)
{
	enum ailment ailment = AILMENT_NONE;

	for (unsigned i = 0; i < health->workers; i++) {
		enum hang_kind kind = hang_look(&health->hangs[i], &health->beats[i], now_ms);

		if (kind != HANG_NONE && ailment == AILMENT_NONE) {
			ailment = AILMENT_WORKER;
			snprintf(detail, size, "worker=%u how=%s", i, hang_name(kind));
		}
	}
	for (unsigned i = 0; i < health->workers; i++)
		for (unsigned p = 0; p < health->ports->count; p++)
			if (is_stuck(&health->stucks[i][p], &health->beats[i], &health->ports->port[p], i, now_ms) &&
			    ailment == AILMENT_NONE) {
				ailment = AILMENT_PORT;
				snprintf(detail, size, "port=%s queue=%u", health->ports->port[p].arguments, i);
			}
	return ailment;
}

void health_run(struct health *health, struct sick_withdrawal *withdrawal, uint64_t now_ms)
{
	char detail[OPTIONS_TEXT_MAX + 32] = "";

	if (!health->beats || now_ms < health->look_at)
		return;
	health->look_at = now_ms + HANG_LOOK_MS;
	sick_withdrawal_of_mux(withdrawal, look(health, now_ms, detail, sizeof(detail)), detail);
}

bool health_must_end(enum ailment ailment, bool announces, uint64_t waited_ms)
{
	uint64_t most_ms = announces ? HEALTH_WAIT_ANNOUNCED_MS : HEALTH_WAIT_MAX_MS;

	return ailment == AILMENT_WORKER && waited_ms >= most_ms;
}

_Noreturn void health_end(const char *why)
{
	fprintf(stderr, "mux event=ends why=\"%s\"\n", why);
	_exit(1);
}
