/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/settled_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/address.h"

static void take(struct settled_watch *watch, const struct tree_reply *reply)
{
	struct reason why = {""};
	struct settled settled;
	bool is_malformed = settled_parse((const char *)reply->data, reply->len, &settled, &why);

	if (is_malformed && !watch->is_malformed)
		fprintf(stderr, "mux event=ignored path=%s why=\"%s\"\n", watch->node.path, why.text);
	watch->is_malformed = is_malformed;
	if (is_malformed)
		return;
	settled_clear(&watch->read);
	watch->read = settled;
	watch->is_new = true;
}

static void on_node(void *context, const struct tree_reply *reply)
{
	struct settled_watch *watch = context;

	if (watch->node.is_held)
		return;
	if (reply->result == TREE_MISSING) { /* nothing has been settled yet */
		settled_clear(&watch->read);
		watch->is_new = true;
	} else if (reply->result == TREE_OK) {
		take(watch, reply);
	}
}

void settled_watch_restore(struct settled_watch *watch, const struct settled *settled)
{
	settled_copy(&watch->read, settled);
	settled_copy(&watch->known, settled);
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t promised(const struct published_service *published, const struct state_keeper *state)
{
	const struct ring *ring = published_ring(published);

	if (!ring)
		return 0;
	if (!state) /* after a restart there is no ring */
		return later(published->settled, ring_generation(ring));
	return later(published->saved, settled_find(&state->settled, published->service->id));
}

static void hear(struct settled_watch *watch, struct published_service *published)
{
	uint32_t heard = published->heard_settled;

	published->heard_settled = 0;
	if (published->service && heard > settled_find(&watch->read, published->service->id))
		settled_set(&watch->read, published->service->id, heard);
}

/* Returns whether another one counts than before. */
static bool decide(struct settled_watch *watch, struct service_sync *sync, uint64_t now_ms)
{
	struct published_service *published = &sync->ring.published;
	uint32_t told = settled_find(&watch->read, published->service->id);
	uint32_t before = settled_find(&watch->known, published->service->id);
	uint32_t latest = service_sync_latest(sync), counts = told;
	bool is_above = latest && told > latest;
	bool waits = told > before && told > ring_sync_generation(&sync->ring) && service_sync_is_reading(sync) &&
		     !(is_above && told == published->settled_refused);
	uint64_t settle_by = published->settle_by ? published->settle_by : now_ms + SETTLED_WATCH_READ_MS;

	settle_by = waits && now_ms < settle_by ? settle_by : 0;
	if (!settle_by)
		service_sync_refuse_settled(sync, is_above ? told : 0);
	if (settle_by || is_above)
		counts = latest && before > latest ? 0 : before;
	published->is_due |= counts != published->settled || settle_by != published->settle_by;
	published->settled = counts;
	published->settle_by = settle_by;
	return counts != before;
}

/* Other services than those that are served count as they are told. */
static void know(struct settled_watch *watch, struct service_sync *const *syncs, unsigned count)
{
	struct settled known = {0};
	bool has_all = settled_copy(&known, &watch->read);

	for (unsigned i = 0; has_all && i < count; i++) {
		const struct published_service *published = &syncs[i]->ring.published;

		if (published->service)
			has_all = settled_set(&known, published->service->id, published->settled);
	}
	watch->is_new = !has_all;
	if (has_all) {
		settled_clear(&watch->known);
		watch->known = known;
	} else {
		settled_clear(&known);
	}
}

/* A VIP of a service whose ring is older than what is settled. */
struct out {
	const struct fl_address *vip;
	const struct published_service *of;
};

struct outs {
	struct out *list; /* by VIP */
	size_t count;
};

static int compare(const void *left, const void *right)
{
	return memcmp(((const struct out *)left)->vip, ((const struct out *)right)->vip, sizeof(struct fl_address));
}

/* The VIPs of a service whose ring is too old; 0: it is not. */
static uint32_t count_out(const struct published_service *published)
{
	return published_is_settled_out(published) ? published->service->config.vips_count : 0;
}

static struct outs find_outs(struct service_sync *const *syncs, unsigned count)
{
	struct outs outs = {0};
	size_t all = 0;

	for (unsigned i = 0; i < count; i++)
		all += count_out(&syncs[i]->ring.published);
	if (!all)
		return outs;
	outs.list = tree_alloc(all * sizeof(*outs.list));
	for (unsigned i = 0; i < count; i++) {
		const struct published_service *published = &syncs[i]->ring.published;

		for (uint32_t vip = 0; vip < count_out(published); vip++)
			outs.list[outs.count++] = (struct out){&published->service->config.vips[vip], published};
	}
	qsort(outs.list, outs.count, sizeof(*outs.list), compare);
	return outs;
}

/* One of another service. NULL: none. A service has a VIP once, so of two neighbours one is another service's. */
static const struct out *find_shared(const struct outs *outs, const struct published_service *published)
{
	const struct service_config *config = &published->service->config;

	for (uint32_t i = 0; i < config->vips_count && outs->count; i++) {
		const struct out key = {.vip = &config->vips[i]};
		const struct out *found = bsearch(&key, outs->list, outs->count, sizeof(key), compare);

		if (!found)
			continue;
		if (found->of != published)
			return found;
		if (found > outs->list && !compare(found - 1, &key))
			return found - 1;
		if (found + 1 < outs->list + outs->count && !compare(found + 1, &key))
			return found + 1;
	}
	return NULL;
}

static void note_shared(const struct outs *outs, struct published_service *published)
{
	const struct out *shared = find_shared(outs, published);
	char vip[ADDRESS_TEXT_MAX];

	if ((shared != NULL) == published->is_shared_out)
		return;
	published->is_shared_out = shared;
	published->is_due = true;
	if (shared)
		fprintf(stderr,
			"mux event=withdrawn_settled service=%s vip=%s shared=%s why=\"a service that shares the VIP "
			"has an older generation than the settled one\"\n",
			published->name, address_print(shared->vip, vip), shared->of->name);
}

bool settled_watch_apply(struct settled_watch *watch, struct service_sync *const *syncs, unsigned count,
			 const struct state_keeper *state, uint64_t now_ms)
{
	bool has_changed = false;
	struct outs outs;

	for (unsigned i = 0; i < count; i++) {
		struct published_service *published = &syncs[i]->ring.published;

		hear(watch, published);
		if (published->service)
			watch->is_new |= decide(watch, syncs[i], now_ms);
	}
	if (watch->is_new)
		know(watch, syncs, count);
	outs = find_outs(syncs, count);
	for (unsigned i = 0; i < count; i++) {
		struct published_service *published = &syncs[i]->ring.published;
		uint32_t promised_before = published->promised;

		published->promised = promised(published, state);
		if (published->service)
			note_shared(&outs, published);
		has_changed |= published->is_due || published->promised != promised_before;
		if (published->is_due)
			published_announce(published);
		published->is_due = false;
	}
	free(outs.list);
	return has_changed;
}

struct settled_watch *settled_watch_new(struct tree *tree, const char *root)
{
	struct settled_watch *watch = tree_alloc(sizeof(*watch));

	watched_node_begin(&watch->node, tree, tree_path(root, "settled"), on_node, watch);
	watch->node.is_held = true;
	return watch;
}

void settled_watch_free(struct settled_watch *watch)
{
	if (!watch)
		return;
	settled_clear(&watch->read);
	settled_clear(&watch->known);
	free(watch->node.path);
	free(watch);
}
