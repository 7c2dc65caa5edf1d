/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/ring_sync.h"

#include "steering/steering.h"

uint32_t ring_sync_generation(const struct ring_sync *sync)
{
	const struct ring *ring = published_ring(&sync->published);

	return ring ? ring_generation(ring) : 0;
}

bool ring_sync_has_arrays(const struct ring_sync *sync)
{
	return sync->has_config && sync->config.steering->arrays;
}

void ring_sync_refuse(struct ring_sync *sync, struct refusal *refusal, unsigned reason, uint32_t generation,
		      const char *why)
{
	sync->refused[reason]++;
	sync->backoff.failures++;
	refusal_open(refusal, "mux", sync->name, reason, generation, why);
	ring_sync_report(sync);
}

void ring_sync_refuse_config(struct ring_sync *sync, unsigned reason, const char *why)
{
	ring_sync_refuse(sync, &sync->config_refusal, reason, 0, why);
	backoff_schedule(&sync->backoff, ring_sync_now(sync));
}

void ring_sync_refuse_number(struct ring_sync *sync, const char *node, const struct tree_reply *reply)
{
	struct reason why;

	service_reads_refuse_number(reply, node, &why);
	ring_sync_refuse(sync, &sync->ring_refusal, REFUSAL_NUMBER, 0, why.text);
	backoff_hold(&sync->backoff, ring_sync_now(sync));
}

void ring_sync_read_latest(struct ring_sync *sync)
{
	service_reads_latest(sync->reads, ring_sync_has_arrays(sync));
}

void ring_sync_retry(struct ring_sync *sync)
{
	backoff_schedule_once(&sync->backoff, ring_sync_now(sync));
}
