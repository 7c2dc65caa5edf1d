/* SPDX-License-Identifier: Apache-2.0 */
#include "service/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "service/service.h"

struct entry {
	uint64_t high;
	uint64_t low;
	struct lookup_port port;
};

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->port.first < b->port.first ? -1 : a->port.first > b->port.first;
}

static uint32_t count_entries(struct service *const *services, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct service_config *config = &services[i]->config;

		n += config->vips_count * (config->ports_count + !!config->mptcp.last);
	}
	return n;
}

static struct entry *put(struct entry *out, const struct fl_address *vip, uint32_t first, uint32_t last,
			 struct service *service)
{
	lookup_words(vip, &out->high, &out->low);
	out->port = (struct lookup_port){.first = first, .last = last, .service = service};
	return out + 1;
}

static void fill_entries(struct service *const *services, uint32_t count, struct entry *out)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct service_config *config = &services[i]->config;

		for (uint32_t v = 0; v < config->vips_count; v++) {
			for (uint32_t p = 0; p < config->ports_count; p++) {
				uint32_t key = lookup_key(config->ports[p].protocol, config->ports[p].port);

				out = put(out, &config->vips[v], key, key, services[i]);
			}
			if (config->mptcp.last)
				out = put(out, &config->vips[v], lookup_key(IPPROTO_TCP, config->mptcp.first),
					  lookup_key(IPPROTO_TCP, config->mptcp.last), services[i]);
		}
	}
}

static void insert(struct lookup *lookup, const struct lookup_vip *vip)
{
	uint32_t at = lookup_slot(vip->high, vip->low, lookup->mask);

	while (lookup->slots[at].count)
		at = (at + 1) & lookup->mask;
	lookup->slots[at] = *vip;
	if (!vip->high && (uint32_t)vip->low == 0xffff0000U) {
		uint32_t address = __builtin_bswap32((uint32_t)(vip->low >> 32));

		lookup->ipv4_first = address < lookup->ipv4_first ? address : lookup->ipv4_first;
		lookup->ipv4_last = address > lookup->ipv4_last ? address : lookup->ipv4_last;
	}
}

static void insert_self(struct lookup *lookup, const struct fl_address *self)
{
	struct lookup_vip entry = {.count = 1, .self = true};

	lookup_words(self, &entry.high, &entry.low);
	if (!fl_address_is_none(self) && !lookup_vip(lookup, entry.high, entry.low))
		insert(lookup, &entry);
}

static uint32_t slots_for(uint32_t vips)
{
	uint32_t slots = 8;

	while (slots < 2 * vips)
		slots *= 2;
	return slots;
}

static void add_encap(struct lookup *lookup, const struct encap *encap)
{
	for (uint32_t i = 0; i < lookup->encaps_count; i++)
		if (lookup->encaps[i] == encap)
			return;
	lookup->encaps[lookup->encaps_count++] = encap;
}

uint32_t lookup_overhead(const struct lookup *lookup, const struct encap_template *line, uint8_t flags)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < lookup->encaps_count; i++) {
		const struct encap *encap = lookup->encaps[i];
		uint32_t overhead = encap->overhead(line, encap_candidates(encap), flags);

		most = overhead > most ? overhead : most;
	}
	return most;
}

/* What lookup_common() is asked for; 0: neither IPv4 nor a service's own port. */
static uint64_t destination_of(const struct entry *entry)
{
	bool is_ipv4 = !entry->high && (uint32_t)entry->low == 0xffff0000U;

	if (!is_ipv4 || lookup_is_by_id(&entry->port))
		return 0;
	return entry->low >> 32 | (uint64_t)__builtin_bswap16((uint16_t)entry->port.first) << 32 |
	       (uint64_t)(entry->port.first >> 16) << 48;
}

static bool line_add(struct lookup_line *line, uint64_t destination, struct service *service)
{
	for (int i = 0; i < LOOKUP_LINE; i++) {
		if (line->destinations[i])
			continue;
		line->destinations[i] = destination;
		line->services[i] = service;
		return true;
	}
	return false;
}

/* How many entries found no room. */
static uint32_t fill_lines(struct lookup *lookup, const struct entry *entries, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t destination = destination_of(&entries[i]);

		if (destination && !line_add(lookup_line(lookup, destination), destination, entries[i].port.service))
			left++;
	}
	return left;
}

/* As many lines as entries at first; up to eight times as many until all find room. False: no memory. */
static bool make_lines(struct lookup *lookup, const struct entry *entries, uint32_t count)
{
	uint32_t log2 = 3, most;

	while (1U << log2 < count)
		log2++;
	for (most = log2 + 3; log2 <= most; log2++) {
		size_t bytes = sizeof(*lookup->lines) << log2;

		free(lookup->lines);
		lookup->lines = aligned_alloc(64, bytes);
		if (!lookup->lines)
			return false;
		memset(lookup->lines, 0, bytes);
		lookup->shift = 64 - log2;
		if (!fill_lines(lookup, entries, count))
			break;
	}
	return true;
}

struct lookup *lookup_new(struct service *const *services, uint32_t count, const struct fl_address *selves,
			  uint32_t selves_count)
{
	uint32_t n = count_entries(services, count), slots = slots_for(n + selves_count);
	struct entry *entries = calloc(n ? n : 1, sizeof(*entries));
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	struct lookup_vip vip = {0};

	if (!entries || !lookup)
		goto fail;
	lookup->mask = slots - 1;
	lookup->ipv4_first = UINT32_MAX;
	lookup->slots = aligned_alloc(64, slots * sizeof(*lookup->slots));
	lookup->ports = calloc(n ? n : 1, sizeof(*lookup->ports));
	if (!lookup->slots || !lookup->ports)
		goto fail;
	memset(lookup->slots, 0, slots * sizeof(*lookup->slots));
	fill_entries(services, count, entries);
	qsort(entries, n, sizeof(*entries), compare);
	if (!make_lines(lookup, entries, n))
		goto fail;
	for (uint32_t i = 0; i < n; i++) {
		lookup->ports[i] = entries[i].port;
		if (!i || entries[i].high != vip.high || entries[i].low != vip.low) {
			vip = (struct lookup_vip){.high = entries[i].high, .low = entries[i].low, .first = i};
			lookup->vips++;
		}
		vip.count++;
		if (i + 1 == n || entries[i + 1].high != vip.high || entries[i + 1].low != vip.low)
			insert(lookup, &vip);
	}
	for (uint32_t i = 0; i < selves_count; i++)
		insert_self(lookup, &selves[i]);
	for (uint32_t i = 0; i < count; i++)
		add_encap(lookup, services[i]->encap);
	free(entries);
	return lookup;

fail:
	free(entries);
	lookup_free(lookup);
	return NULL;
}

void lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	free(lookup->lines);
	free(lookup->slots);
	free(lookup->ports);
	free(lookup);
}
