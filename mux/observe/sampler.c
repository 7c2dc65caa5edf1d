/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fairlead/ip.h>
#include <fairlead/ring.h>

#include <rte_ring.h>

#include "config/clock.h"
#include "config/options.h"
#include "ring/lists.h"

enum {
	BURSTS_A_SECOND = 10, /* at most a tenth of a second's tokens accumulate */
};

_Static_assert((int)VERDICTS_ALL <= 64, "a verdict is a bit of a word");
_Static_assert(sizeof(struct sample) % 4 == 0, "rings carry words");

struct sampler {
	const struct sample_filter *on; /* atomic; NULL: no recording */
	uint32_t tokens;                /* atomic */
	struct tables *tables;
	struct sample_filter filter; /* written by the control thread while `on` is NULL */
	uint64_t started_ms;
	uint64_t granted;
	unsigned workers;
	struct rte_ring *rings[OPTIONS_WORKERS_MAX];
};

/* In heap memory; one writer, one reader. NULL: no memory. */
static struct rte_ring *make_ring(void)
{
	ssize_t bytes = rte_ring_get_memsize_elem(sizeof(struct sample), SAMPLER_RING);
	struct rte_ring *ring = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL((size_t)bytes, RTE_CACHE_LINE_SIZE));

	if (ring)
		rte_ring_init(ring, "samples", SAMPLER_RING, RING_F_SP_ENQ | RING_F_SC_DEQ);
	return ring;
}

struct sampler *sampler_new(unsigned workers, struct tables *tables, struct reason *why)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		goto no_memory;
	sampler->tables = tables;
	for (; sampler->workers < workers; sampler->workers++) {
		sampler->rings[sampler->workers] = make_ring();
		if (!sampler->rings[sampler->workers])
			goto no_memory;
	}
	return sampler;

no_memory:
	sampler_free(sampler);
	reason_set(why, -ENOMEM, "no memory for samples of packets");
	return NULL;
}

void sampler_free(struct sampler *sampler)
{
	if (!sampler)
		return;
	while (sampler->workers)
		free(sampler->rings[--sampler->workers]);
	free(sampler);
}

bool sampler_sees(enum verdict verdict)
{
	return verdict < VERDICTS && verdict != VERDICT_FROM_KERNEL && verdict != VERDICT_ECHO_LIMIT &&
	       verdict != VERDICT_PORT_FULL && verdict != VERDICT_EXCEPTION_FULL;
}

void sampler_start(struct sampler *sampler, const struct sample_filter *filter, uint64_t now_ms)
{
	struct sample forgotten;

	while (sampler_take(sampler, &forgotten))
		;
	sampler->filter = *filter;
	sampler->started_ms = now_ms;
	sampler->granted = 0;
	__atomic_store_n(&sampler->tokens, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&sampler->on, &sampler->filter, __ATOMIC_RELEASE);
}

void sampler_stop(struct sampler *sampler)
{
	if (!sampler_is_on(sampler))
		return;
	__atomic_store_n(&sampler->on, NULL, __ATOMIC_RELEASE);
	publication_synchronize(sampler->tables->publication);
}

void sampler_refill(struct sampler *sampler, uint64_t now_ms)
{
	uint32_t rate = sampler->filter.rate, most = rate / BURSTS_A_SECOND + 1, left;
	uint64_t granted = (now_ms - sampler->started_ms) * rate / 1000, more = granted - sampler->granted;

	sampler->granted = granted;
	left = __atomic_load_n(&sampler->tokens, __ATOMIC_RELAXED); /* workers only take */
	if (left < most)
		__atomic_fetch_add(&sampler->tokens, more < most - left ? (uint32_t)more : most - left,
				   __ATOMIC_RELAXED);
}

bool sampler_take(struct sampler *sampler, struct sample *out)
{
	for (unsigned i = 0; i < sampler->workers; i++)
		if (!rte_ring_sc_dequeue_elem(sampler->rings[i], out, sizeof(*out)))
			return true;
	return false;
}

bool sampler_is_on(const struct sampler *sampler)
{
	return __atomic_load_n(&sampler->on, __ATOMIC_RELAXED);
}

static bool take_token(struct sampler *sampler)
{
	uint32_t left = __atomic_load_n(&sampler->tokens, __ATOMIC_RELAXED);

	while (left)
		if (__atomic_compare_exchange_n(&sampler->tokens, &left, left - 1, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

/* The offset of the sender's IP packet in the frame; the frame's length if there is none. */
static uint32_t inner_at(const struct rte_mbuf *mbuf, const struct packet *packet, const uint8_t *frame)
{
	uint32_t at = FL_MACS_LEN;

	if (packet->verdict == VERDICT_SERVICE || packet->verdict == VERDICT_FRAGMENT_FORWARDED)
		return mbuf->data_len - packet->ip_len;
	for (int i = 0; i <= FL_VLANS_MAX && at + 2U <= mbuf->data_len; i++, at += FL_VLAN_LEN) {
		uint16_t type = fl_load_be16(frame + at);

		if (type == FL_TYPE_IPV4 || type == FL_TYPE_IPV6)
			return at + 2;
		if (type != FL_TYPE_VLAN && type != FL_TYPE_SERVICE_VLAN)
			break;
	}
	return mbuf->data_len;
}

static bool is_from(const struct rte_mbuf *mbuf, const struct packet *packet, const struct fl_address *source)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t at = inner_at(mbuf, packet, frame);
	const uint8_t *ip = frame + at;

	if (mbuf->data_len >= at + 20U && ip[0] >> 4 == 4) {
		struct fl_address address = fl_address_from_ipv4(ip + 12);

		return fl_address_equal(&address, source);
	}
	return mbuf->data_len >= at + 40U && ip[0] >> 4 == 6 && !memcmp(ip + 8, source->bytes, sizeof(source->bytes));
}

/* NULL: none was found. With other verdicts the field still has an earlier packet's service. */
static const struct service *service_of(const struct packet *packet)
{
	return packet->verdict == VERDICT_SERVICE || verdict_is_service_drop(packet->verdict) ? packet->service : NULL;
}

static bool is_wanted(const struct sample_filter *filter, const struct rte_mbuf *mbuf, const struct packet *packet)
{
	const struct service *service = service_of(packet);

	return filter->verdicts >> packet->verdict & 1 &&
	       (!filter->service || (service && service->id == filter->service)) &&
	       (fl_address_is_none(&filter->source) || is_from(mbuf, packet, &filter->source));
}

static void tell_row(struct sample *sample, const struct packet *packet, bool has_second)
{
	sample->has_row = true;
	sample->bucket = packet->bucket;
	sample->generation = packet->generation;
	sample->backend = fl_row_current(packet->row);
	sample->former = (uint8_t)lists_count(packet->row);
	sample->second = has_second ? packet->second : RING_BUCKET_NONE;
	sample->second_backend = has_second ? fl_row_current(packet->second_row) : FL_BACKEND_NONE;
}

static void fill(struct sample *sample, unsigned worker, const struct burst *burst, uint32_t i, uint16_t came_by)
{
	const struct packet *packet = &burst->packets[i];
	const struct rte_mbuf *mbuf = burst->mbufs[i];
	const struct service *service = service_of(packet);

	*sample = (struct sample){
	    .time_ns = clock_ns(CLOCK_REALTIME), /* of the vDSO: no system call */
	    .len = mbuf->pkt_len,
	    .captured = mbuf->data_len < SAMPLER_CAPTURED_MAX ? mbuf->data_len : SAMPLER_CAPTURED_MAX,
	    .service = service ? service->id : 0,
	    .verdict = packet->verdict,
	    .worker = (uint8_t)worker,
	    .outbound = packet->verdict == VERDICT_SERVICE || packet->verdict == VERDICT_FRAGMENT_FORWARDED,
	};
	sample->port = sample->outbound ? packet->port : came_by;
	if (service && packet->verdict != VERDICT_NO_RING)
		tell_row(sample, packet, burst->seconds >> i & 1);
	memcpy(sample->data, rte_pktmbuf_mtod(mbuf, const uint8_t *), sample->captured);
}

void sampler_look(struct sampler *sampler, unsigned worker, const struct burst *burst, uint16_t came_by,
		  struct worker_counters *counters)
{
	const struct sample_filter *filter = __atomic_load_n(&sampler->on, __ATOMIC_ACQUIRE);
	struct sample sample;

	for (uint32_t i = 0; filter && i < burst->count; i++) {
		enum sample_result result = SAMPLE_LIMITED;

		if (!is_wanted(filter, burst->mbufs[i], &burst->packets[i]))
			continue;
		if (take_token(sampler)) {
			fill(&sample, worker, burst, i, came_by);
			result = rte_ring_sp_enqueue_elem(sampler->rings[worker], &sample, sizeof(sample))
				     ? SAMPLE_FULL
				     : SAMPLE_TAKEN;
		}
		counter_add(&counters->samples[result], 1);
	}
}
