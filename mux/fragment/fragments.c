/* SPDX-License-Identifier: Apache-2.0 */
#include "fragment/fragments.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include <fairlead/ip.h>

#include "encap/encap.h"
#include "packet/classify.h"
#include "flow/ipv6_extensions.h"
#include "service/peers.h"
#include "packet/transport.h"
#include "headers/mux_to_mux.h"

enum {
	NONE_HELD = 0xffff,
	READY_MAX = FRAGMENTS_HELD + FRAGMENTS_RING + 2 * BURST_MAX,
	PORTS_MIN = 8, /* of a transport header in a first fragment */
};

/* One fragment, read. */
struct fragment {
	uint64_t hash;
	uint8_t addresses[32]; /* source, destination; IPv4 mapped */
	uint32_t id;
	uint8_t protocol; /* IPv4: part of the datagram's identity; IPv6: from the first fragment */
	uint8_t family;
	bool first;
	uint32_t l4_len; /* bytes from at_l4 on */
};

struct entry {
	uint8_t addresses[32];
	uint32_t id;
	uint8_t protocol; /* 0 for IPv6: RFC 8200, 4.5 */
	uint8_t family;   /* 0: free */
	uint8_t verdict;  /* of the first fragment, VERDICT_FRAGMENT until it comes */
	uint8_t waiting;
	uint64_t ports; /* key[1] of a packet */
	uint64_t until; /* milliseconds */
	uint16_t held;  /* the first waiting fragment */
	uint16_t held_last;
};

_Static_assert(sizeof(struct entry) == 64, "an entry is as large as a cache line");

/* A waiting fragment; kept in order of arrival, so that the oldest expires first. */
struct held {
	struct rte_mbuf *mbuf; /* NULL: no longer waiting */
	struct packet packet;
	struct entry *entry;
	uint64_t until;
	uint16_t next; /* of the same datagram */
};

/* No index runs freely, so that none has a wrap of its own: each stays below its array's size. */

struct fragments {
	unsigned worker, workers;
	struct rte_ring *const *rings;
	struct entry *entries;
	struct held held[FRAGMENTS_HELD]; /* a ring: held_count from held_first on */
	uint32_t held_first, held_count;
	uint32_t ready, taken; /* of the list; both 0 once all of it is taken */
	struct {
		struct rte_mbuf *mbuf;
		struct packet packet;
	} list[READY_MAX];
};

struct fragments *fragments_new(unsigned worker, unsigned workers, struct rte_ring *const *rings)
{
	struct fragments *f = aligned_alloc(64, (sizeof(*f) + 63) & ~(size_t)63);

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->worker = worker;
	f->workers = workers;
	f->rings = rings;
	f->entries = calloc(FRAGMENTS_ENTRIES, sizeof(*f->entries));
	if (f->entries)
		return f;
	free(f);
	return NULL;
}

void fragments_free(struct fragments *f)
{
	void *mbuf;

	if (!f)
		return;
	for (uint32_t i = 0; i < FRAGMENTS_HELD; i++)
		if (f->held[i].mbuf)
			rte_pktmbuf_free(f->held[i].mbuf);
	while (!rte_ring_dequeue(f->rings[f->worker], &mbuf))
		rte_pktmbuf_free(mbuf);
	free(f->entries);
	free(f);
}

/* There is always room: until all is taken, calls add at most what was held, what was handed over and one burst. */
static void finish(struct fragments *f, struct rte_mbuf *mbuf, const struct packet *packet, enum verdict verdict)
{
	uint32_t at = f->ready++;

	f->list[at].mbuf = mbuf;
	f->list[at].packet = *packet;
	f->list[at].packet.verdict = (uint8_t)verdict;
	if (verdict != VERDICT_SERVICE)
		f->list[at].packet.service = NULL; /* none found yet */
}

bool fragments_ready(struct fragments *f, struct burst *burst)
{
	burst->count = 0;
	while (f->taken != f->ready && burst->count < BURST_MAX) {
		uint32_t at = f->taken++;

		burst->mbufs[burst->count] = f->list[at].mbuf;
		burst->packets[burst->count++] = f->list[at].packet;
	}
	if (f->taken == f->ready)
		f->taken = f->ready = 0;
	return burst->count;
}

static void map(uint8_t *out, const uint8_t *ipv4)
{
	struct fl_address address = fl_address_from_ipv4(ipv4);

	memcpy(out, address.bytes, sizeof(address.bytes));
}

/* Reads a fragment that classification found sound; for IPv6, sets packet->at_l4 behind all headers. */
static void read_fragment(const struct fl_siphash_key *seed, const uint8_t *frame, uint32_t len, struct packet *packet,
			  struct fragment *out)
{
	const uint8_t *ip = frame + packet->at_ip;
	uint8_t key[36];

	memset(out, 0, sizeof(*out));
	if (packet->flags & PACKET_IPV6) {
		struct ipv6_walk walk;

		ipv6_walk(ip, len - packet->at_ip, packet->ip_len, &walk);
		memcpy(out->addresses, ip + 8, 32);
		out->family = 6;
		out->id = walk.id;
		out->protocol = walk.protocol;
		out->first = !walk.offset;
		out->l4_len = packet->ip_len - walk.at;
	} else {
		map(out->addresses, ip + 12);
		map(out->addresses + 16, ip + 16);
		out->family = 4;
		out->id = fl_load_be16(ip + 4);
		out->protocol = ip[9];
		out->first = !(fl_load_be16(ip + 6) & FL_IPV4_OFFSET);
		out->l4_len = packet->ip_len - (packet->at_l4 - packet->at_ip);
	}
	memcpy(key, out->addresses, 32);
	fl_store_be32(key + 32, out->id);
	out->hash = fl_siphash(seed, key, sizeof(key));
}

static bool is_of(const struct entry *entry, const struct fragment *fragment)
{
	return entry->family == fragment->family && entry->id == fragment->id &&
	       entry->protocol == (fragment->family == 4 ? fragment->protocol : 0) &&
	       !memcmp(entry->addresses, fragment->addresses, sizeof(entry->addresses));
}

/* Releases the fragments that wait for the entry's first one, with the first one's verdict. */
static void release(struct fragments *f, const struct lookup *lookup, struct entry *entry);

/* The datagram's entry: the existing one, else a free one, else the one that would expire first. */
static struct entry *find(struct fragments *f, const struct lookup *lookup, const struct fragment *fragment,
			  uint64_t now_ms)
{
	struct entry *set = f->entries + (fragment->hash >> 40) % FRAGMENTS_SETS * FRAGMENTS_WAYS, *victim = set;

	for (int i = 0; i < FRAGMENTS_WAYS; i++) {
		struct entry *entry = set + i;

		if (entry->family && !entry->waiting && now_ms >= entry->until)
			entry->family = 0;
		if (is_of(entry, fragment))
			return entry;
		if (victim->family && (!entry->family || entry->until < victim->until))
			victim = entry;
	}
	if (victim->family && victim->waiting) {
		victim->verdict = VERDICT_FRAGMENT_FULL;
		release(f, lookup, victim);
	}
	memset(victim, 0, sizeof(*victim));
	memcpy(victim->addresses, fragment->addresses, sizeof(victim->addresses));
	victim->id = fragment->id;
	victim->protocol = fragment->family == 4 ? fragment->protocol : 0;
	victim->family = fragment->family;
	victim->verdict = VERDICT_FRAGMENT;
	victim->held = NONE_HELD;
	return victim;
}

/* Handles a fragment of a datagram whose first one is known: steered by its ports, or dropped alike. */
static void go_on(struct fragments *f, const struct lookup *lookup, const struct entry *entry, struct rte_mbuf *mbuf,
		  struct packet *packet)
{
	const uint8_t *ip = rte_pktmbuf_mtod(mbuf, const uint8_t *) + packet->at_ip;
	enum verdict verdict = entry->verdict;
	const struct lookup_vip *vip;

	if (verdict != VERDICT_SERVICE) {
		finish(f, mbuf, packet, verdict);
		return;
	}
	/* services may have changed since, so look it up again for each fragment */
	vip = packet->flags & PACKET_IPV6 ? lookup_vip(lookup, transport_load64(ip + 24), transport_load64(ip + 32))
					  : lookup_vip(lookup, 0, lookup_low_of_ipv4(transport_load32(ip + 16)));
	packet->key[1] = entry->ports;
	if ((uint8_t)(entry->ports >> 32) == IPPROTO_UDP && transport_source_loops(lookup, packet))
		verdict = VERDICT_IP_SOURCE;
	else
		verdict = !vip ? VERDICT_NO_SERVICE_PORT
			       : transport_service(lookup, vip, (uint8_t)(entry->ports >> 32),
						   fl_load_be16((const uint8_t *)&entry->ports + 2), packet);
	if (verdict == VERDICT_SERVICE)
		transport_stateless((uint8_t)(entry->ports >> 32), packet);
	finish(f, mbuf, packet, verdict);
}

static void release(struct fragments *f, const struct lookup *lookup, struct entry *entry)
{
	while (entry->held != NONE_HELD) {
		struct held *held = &f->held[entry->held];

		entry->held = held->next;
		go_on(f, lookup, entry, held->mbuf, &held->packet);
		held->mbuf = NULL;
	}
	entry->waiting = 0;
}

/* The oldest that waits, or NULL; places of fragments that wait no longer are freed up to there. */
static struct held *oldest(struct fragments *f)
{
	while (f->held_count && !f->held[f->held_first].mbuf) {
		f->held_first = (f->held_first + 1) % FRAGMENTS_HELD;
		f->held_count--;
	}
	return f->held_count ? &f->held[f->held_first] : NULL;
}

/* Drops the oldest one: the first in its datagram's list, too, since both are in order of arrival. */
static void give_up(struct fragments *f, struct held *held, enum verdict verdict)
{
	held->entry->held = held->next;
	held->entry->waiting--;
	finish(f, held->mbuf, &held->packet, verdict);
	held->mbuf = NULL;
}

/*
 * Lets a fragment wait. Without room the oldest gives way: it has waited the longest for a first fragment that should
 * have come within milliseconds, so that a flood of lone fragments leaves the others the time that 256 of it take.
 */
static void hold(struct fragments *f, struct entry *entry, struct rte_mbuf *mbuf, const struct packet *packet,
		 uint64_t now_ms)
{
	struct held *first = oldest(f);
	uint16_t at;

	if (entry->waiting == FRAGMENTS_HELD_EACH) {
		finish(f, mbuf, packet, VERDICT_FRAGMENT_FULL);
		return;
	}
	if (first && f->held_count == FRAGMENTS_HELD) {
		give_up(f, first, VERDICT_FRAGMENT_FULL);
		oldest(f);
	}
	at = (uint16_t)((f->held_first + f->held_count) % FRAGMENTS_HELD);
	f->held_count++;
	f->held[at] = (struct held){
	    .mbuf = mbuf, .packet = *packet, .entry = entry, .until = now_ms + FRAGMENTS_WAIT_MS, .next = NONE_HELD};
	if (entry->waiting++)
		f->held[entry->held_last].next = at;
	else
		entry->held = at;
	entry->held_last = at;
}

/* Notes what a first fragment says: its ports, or why its datagram is dropped. */
static void note_first(struct entry *entry, const struct fragment *fragment, const uint8_t *frame, uint32_t len,
		       const struct packet *packet)
{
	if (fragment->protocol != IPPROTO_TCP && fragment->protocol != IPPROTO_UDP) {
		entry->verdict = VERDICT_PROTOCOL;
	} else if (fragment->l4_len < PORTS_MIN || len < packet->at_l4 + (uint32_t)PORTS_MIN) {
		entry->verdict = fragment->protocol == IPPROTO_TCP ? VERDICT_TCP_TRUNCATED : VERDICT_UDP_TRUNCATED;
	} else {
		entry->verdict = VERDICT_SERVICE;
		entry->ports = transport_load32(frame + packet->at_l4) | (uint64_t)fragment->protocol << 32;
	}
}

/* Handles a fragment that belongs to this worker. */
static void take_own(struct fragments *f, const struct lookup *lookup, const struct fragment *fragment,
		     struct rte_mbuf *mbuf, struct packet *packet, uint64_t now_ms)
{
	struct entry *entry = find(f, lookup, fragment, now_ms);

	entry->until = now_ms + FRAGMENTS_KNOWN_MS;
	if (fragment->first) {
		note_first(entry, fragment, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len, packet);
		go_on(f, lookup, entry, mbuf, packet);
		release(f, lookup, entry);
	} else if (entry->verdict == VERDICT_FRAGMENT) {
		hold(f, entry, mbuf, packet, now_ms);
	} else {
		go_on(f, lookup, entry, mbuf, packet);
	}
}

/*
 * Sends a fragment to another mux. False if the next hop is not known, or the way there has another family than the
 * address that other muxes know us by: it is handled here instead, where perhaps all fragments arrive.
 */
static bool forward(struct fragments *f, const struct lookup *lookup, uint64_t hash, struct rte_mbuf *mbuf,
		    struct packet *packet)
{
	const struct peers *peers = lookup->peers;
	const struct peer *peer = peers_owner(peers, hash);
	enum verdict verdict;

	if (peer->self || peer->line.state != BACKEND_READY ||
	    fl_address_is_ipv4(&peer->address) != fl_address_is_ipv4(&peers->list[0].address))
		return false;
	packet->hash = hash;
	verdict = mux_to_mux_wrap(lookup, peer, mbuf, packet);
	finish(f, mbuf, packet, verdict);
	return true;
}

/* Reads the fragment and finds the mux and worker that handle it; own: always this worker. */
static void take(struct fragments *f, const struct lookup *lookup, struct rte_mbuf *mbuf, struct packet *packet,
		 bool was_forwarded, bool own, uint64_t now_ms)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct fragment fragment;
	unsigned worker;

	/* a fragment, too, must lie entirely in the first buffer */
	if (mbuf->data_len < mbuf->pkt_len) {
		finish(f, mbuf, packet, VERDICT_SEGMENTED);
		return;
	}
	read_fragment(&lookup->peers->deal.seed, frame, mbuf->data_len, packet, &fragment);
	/* not reported to its sender: not a first fragment, or forwarded by another mux or worker */
	if (!fragment.first || was_forwarded)
		packet->flags |= PACKET_LATER;
	if (!fragment.first)
		packet->at_l4 = 0;
	worker = (unsigned)((uint32_t)fragment.hash % f->workers);
	if (!own && !was_forwarded && forward(f, lookup, fragment.hash, mbuf, packet))
		return;
	if (own || worker == f->worker)
		take_own(f, lookup, &fragment, mbuf, packet, now_ms);
	else if (rte_ring_enqueue(f->rings[worker], mbuf))
		finish(f, mbuf, packet, VERDICT_FRAGMENT_FULL);
}

/* Classifies the inner packet of one from another mux as if it had arrived alone: VERDICT_FRAGMENT, or why not. */
static enum verdict unwrap(const struct lookup *lookup, struct rte_mbuf *mbuf, struct packet *packet)
{
	enum verdict verdict = mux_to_mux_unwrap(lookup->peers, mbuf, packet);
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	if (verdict != VERDICT_PEER)
		return verdict;
	classify(lookup, mac_word(frame), frame, mbuf->data_len, mbuf->pkt_len, packet);
	return packet->verdict == VERDICT_FRAGMENT ? VERDICT_FRAGMENT : VERDICT_PEER_MALFORMED;
}

void fragments_take(struct fragments *f, const struct lookup *lookup, struct rte_mbuf *mbuf,
		    const struct packet *packet, uint64_t now_ms)
{
	struct packet inner = *packet;
	bool was_forwarded = packet->verdict == VERDICT_PEER;

	if (was_forwarded) {
		enum verdict verdict = unwrap(lookup, mbuf, &inner);

		if (verdict != VERDICT_FRAGMENT) {
			finish(f, mbuf, &inner, verdict);
			return;
		}
	}
	take(f, lookup, mbuf, &inner, was_forwarded, false, now_ms);
}

/* Classifies again what another worker has handed over, by the current VIPs. */
static unsigned take_handed(struct fragments *f, const struct lookup *lookup, uint64_t now_ms)
{
	struct rte_mbuf *mbufs[BURST_MAX];
	unsigned count = rte_ring_dequeue_burst(f->rings[f->worker], (void **)mbufs, BURST_MAX, NULL);

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *frame = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);
		struct packet packet;

		classify(lookup, mac_word(frame), frame, mbufs[i]->data_len, mbufs[i]->pkt_len, &packet);
		if (packet.verdict == VERDICT_FRAGMENT)
			take(f, lookup, mbufs[i], &packet, true, true, now_ms);
		else
			finish(f, mbufs[i], &packet, VERDICT_NO_SERVICE_PORT); /* its VIP was removed meanwhile */
	}
	return count;
}

unsigned fragments_run(struct fragments *f, const struct lookup *lookup, uint64_t now_ms)
{
	unsigned taken = f->workers > 1 ? take_handed(f, lookup, now_ms) : 0;

	for (struct held *held = oldest(f); held && now_ms >= held->until; held = oldest(f))
		give_up(f, held, VERDICT_FRAGMENT_ALONE);
	return taken;
}
