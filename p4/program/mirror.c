/* SPDX-License-Identifier: Apache-2.0 */
#include "mirror.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "crc.h"
#include "encap/encap.h"
#include "entries.h"
#include "layout.h"
#include "orders.h"
#include "steering/steering.h"

enum { SERVICES_MAX = P4_SLOTS - 1 }; /* slot 0 of the pipelines is of no service */

/* A service as it is in the pipelines. */
struct mirrored {
	bool is_there;
	bool is_offered;
	bool is_full; /* logged: there is no room for its ring */
	struct service_config config;
	struct copy copy;
	struct order_copy order;
};

struct mirror {
	struct cores *cores;
	struct copies copies;
	struct entries entries;
	struct orders orders;
	uint32_t count;
	struct mirrored *services[REGISTRY_SERVICES_MAX]; /* by slot */
	uint16_t slots[UINT16_MAX + 1];                   /* atomic; by id */
	bool ordered[UINT16_MAX + 1];                     /* atomic; by id */
};

uint16_t mirror_slot(const struct mirror *mirror, uint16_t service)
{
	return __atomic_load_n(&mirror->slots[service], __ATOMIC_RELAXED);
}

bool mirror_is_ordered(const struct mirror *mirror, uint16_t service)
{
	return __atomic_load_n(&mirror->ordered[service], __ATOMIC_RELAXED);
}

static const struct mirrored *find(const struct mirror *mirror, uint16_t id)
{
	for (uint32_t i = 0; i < REGISTRY_SERVICES_MAX; i++)
		if (mirror->services[i] && mirror->services[i]->config.id == id)
			return mirror->services[i];
	return NULL;
}

static const char *const words_of_encap[] = {"gue", "ipip", NULL};
static const char *const words_of_steering[] = {"ring", "hunt", "maat", "othello", NULL};

/* Behind a ring's rows there are its backends, so the largest power of two of rows does not fit. */
const struct mux_serves mirror_serves = {
    .encap = words_of_encap, .steering = words_of_steering, .buckets = P4_RING_WORDS / 2};

static int check_word(const char *service, const char *field, const char *word, const char *const *allowed,
		      struct reason *why)
{
	char listed[64] = "";

	for (const char *const *each = allowed; *each; each++) {
		size_t len = strlen(listed);

		if (!strcmp(word, *each))
			return 0;
		snprintf(listed + len, sizeof(listed) - len, "%s%s", len ? ", " : "", *each);
	}
	return reason_set(why, -EAFNOSUPPORT, "service %s: %s is '%s'; allowed with a mux of kind p4: %s", service,
			  field, word, listed);
}

/* Whether there is room for its filter. */
static int check_filter(const struct mirror *mirror, const struct mirrored *before, const struct service_config *config,
			struct reason *why)
{
	static const struct order_copy none;

	if (config->steering != &steering_maat ||
	    orders_has_room(&mirror->orders, before ? &before->order : &none, config->maat.filter_bytes))
		return 0;
	return reason_set(why, -ENOSPC,
			  "service %s: maat.filterBytes is %u; allowed with a mux of kind p4: %d for all services "
			  "together, at most %u for one more now",
			  config->name, config->maat.filter_bytes, P4_NOTED, regions_largest(&mirror->orders.cells));
}

static int check(void *context, const struct service_config *config, struct reason *why)
{
	const struct mirror *mirror = context;
	const struct mirrored *before = find(mirror, config->id);
	int error = check_word(config->name, "encap", config->encap->name, words_of_encap, why);

	if (!error)
		error = check_word(config->name, "steering", config->steering->name, words_of_steering, why);
	if (error)
		return error;
	if (!before && mirror->count == SERVICES_MAX)
		return reason_set(why, -ENOSPC,
				  "service %s: this mux has %u services; allowed with a mux of kind p4: at most %d",
				  config->name, mirror->count, SERVICES_MAX);
	if (!before && !copies_has_room(&mirror->copies, config->buckets))
		return reason_set(why, -ENOSPC,
				  "service %s: buckets is %u; allowed with a mux of kind p4: %d for all services "
				  "together, at most %u for one more now",
				  config->name, config->buckets, P4_RING_WORDS, regions_largest(&mirror->copies.rows));
	error = check_filter(mirror, before, config, why);
	if (error)
		return error;
	return entries_check(&mirror->entries, before ? &before->config : NULL, config, why);
}

/* Replaces the service's entries in the tables, and says whom it counts for. */
static void put(struct mirror *mirror, const struct service *service, const struct service_config *config,
		bool is_offered)
{
	struct mirrored *mirrored = mirror->services[service->slot];
	const struct entries_service before = {.service = service,
					       .config = mirrored->is_there ? &mirrored->config : NULL,
					       .slot = p4_slot(service),
					       .is_offered = mirrored->is_offered};
	const struct entries_service after = {
	    .service = service, .config = config, .slot = p4_slot(service), .is_offered = is_offered};

	if (config) {
		__atomic_store_n(&mirror->ordered[service->id], config->steering == &steering_maat, __ATOMIC_RELAXED);
		__atomic_store_n(&mirror->slots[service->id], service->slot, __ATOMIC_RELAXED);
	}
	cores_close(mirror->cores);
	entries_put(&mirror->entries, &before, &after);
	cores_open(mirror->cores);
	if (!config) {
		__atomic_store_n(&mirror->ordered[service->id], false, __ATOMIC_RELAXED);
		__atomic_store_n(&mirror->slots[service->id], (uint16_t)MIRROR_SLOT_NONE, __ATOMIC_RELAXED);
	}
	mirrored->is_there = config;
	mirrored->is_offered = is_offered;
	if (config)
		mirrored->config = *config;
}

/* Offers the service if its copy is the ring's, else leaves its packets to the usual path. */
static void offer(struct mirror *mirror, const struct service *service, bool is_copied)
{
	struct mirrored *mirrored = mirror->services[service->slot];

	if (!is_copied && !mirrored->is_full)
		fprintf(stderr,
			"mux event=not_in_pipeline service=%s buckets=%u cell_words=%" PRIu64
			" why=\"registers are full: of ring at most %u words are free together, of cells %u\"\n",
			service->config.name, service->config.buckets, sets_words(service),
			regions_largest(&mirror->copies.rows), regions_largest(&mirror->copies.sets.cells));
	if (is_copied && mirrored->is_full)
		fprintf(stderr, "mux event=in_pipeline service=%s\n", service->config.name);
	mirrored->is_full = !is_copied;
	if (is_copied && mirrored->order.cells.size)
		orders_write(&mirror->orders, &mirrored->copy, service);
	if (mirrored->is_offered != is_copied)
		put(mirror, service, &service->config, is_copied);
	if (!is_copied)
		copy_drop(&mirror->copies, &mirrored->copy, service);
}

/* NULL: the mirror follows it no more. */
static struct mirrored *followed(const struct mirror *mirror, const struct service *service)
{
	return mirror->cores->failed ? NULL : mirror->services[service->slot];
}

static void loaded(void *context, const struct service *service)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = followed(mirror, service);

	if (mirrored)
		offer(mirror, service, copy_load(&mirror->copies, &mirrored->copy, service));
}

/* A ring that found no room may find it later, when others have gone: it is tried again with each change. */
static bool has_copy(const struct mirrored *mirrored)
{
	return mirrored->copy.region.size;
}

/* Rows have changed without a delta. */
static void closed(void *context, const struct service *service)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = followed(mirror, service);

	if (mirrored && has_copy(mirrored))
		copy_store(&mirror->copies, &mirrored->copy, service);
}

static void configured(void *context, const struct service *service)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = mirror->services[service->slot];

	if (!mirrored) {
		mirrored = calloc(1, sizeof(*mirrored));
		if (!mirrored) {
			cores_fail(mirror->cores, "no memory for a service");
			cores_close(mirror->cores);
			return;
		}
		mirror->services[service->slot] = mirrored;
		mirror->count++;
	}
	copies_configure(&mirror->copies, service);
	orders_configure(&mirror->orders, &mirrored->order, p4_slot(service), service);
	put(mirror, service, &service->config, mirrored->is_offered);
	closed(context, service);
}

static void applied(void *context, const struct service *service, const struct delta *delta, const struct fold *fold)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = followed(mirror, service);

	(void)fold;
	if (!mirrored)
		return;
	if (!has_copy(mirrored))
		loaded(context, service);
	else
		offer(mirror, service, copy_apply(&mirror->copies, &mirrored->copy, service, delta));
}

static void refreshed(void *context, const struct service *service)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = followed(mirror, service);

	if (!mirrored || !service_ring(service))
		return;
	if (!has_copy(mirrored))
		loaded(context, service);
	else
		offer(mirror, service, copy_refresh(&mirror->copies, &mirrored->copy, service));
}

static void ticked(void *context, const struct service *service, uint64_t now_ms)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = followed(mirror, service);

	if (mirrored && mirrored->order.cells.size)
		orders_tick(&mirror->orders, &mirrored->order, &mirrored->copy, service, now_ms);
}

static void removed(void *context, const struct service *service)
{
	struct mirror *mirror = context;
	struct mirrored *mirrored = mirror->services[service->slot];

	if (!mirrored)
		return;
	if (!mirror->cores->failed) {
		put(mirror, service, NULL, false);
		orders_configure(&mirror->orders, &mirrored->order, p4_slot(service), NULL);
		copy_drop(&mirror->copies, &mirrored->copy, service);
	}
	sets_forget(&mirrored->copy.sets);
	free(mirrored->copy.lines);
	free(mirrored->copy.places);
	free(mirrored->copy.rows);
	free(mirrored);
	mirror->services[service->slot] = NULL;
	mirror->count--;
}

static void write_crc(struct cores *cores)
{
	char name[16];

	for (unsigned at = 0; at < P4_CRC_SOURCES + P4_CRC_PORTS; at++)
		for (uint32_t i = 0; i < P4_CRC_ENTRIES; i++)
			cores_write(cores, pipeline_crc_name(at, name), i, p4_crc_part(at, i / 256, (uint8_t)i));
}

struct mirror *mirror_new(struct cores *cores, const struct mux *mux, struct reason *why)
{
	struct mirror *mirror = calloc(1, sizeof(*mirror));
	struct service_listener listener = {.context = mirror,
					    .check = check,
					    .configured = configured,
					    .loaded = loaded,
					    .applied = applied,
					    .closed = closed,
					    .refreshed = refreshed,
					    .ticked = ticked,
					    .removed = removed};

	if (!mirror) {
		reason_set(why, -ENOMEM, "no memory for the pipelines' mirror");
		return NULL;
	}
	mirror->cores = cores;
	memset(mirror->slots, 0xff, sizeof(mirror->slots)); /* none */
	write_crc(cores);
	orders_init(&mirror->orders, cores);
	if (copies_init(&mirror->copies, cores, mux->ports, why) ||
	    entries_init(&mirror->entries, cores, &mux->address, &mux->address6, why)) {
		mirror_free(mirror);
		return NULL;
	}
	mux->tables->services = listener;
	return mirror;
}

void mirror_free(struct mirror *mirror)
{
	if (!mirror)
		return;
	for (uint32_t i = 0; i < REGISTRY_SERVICES_MAX; i++) {
		if (!mirror->services[i])
			continue;
		sets_forget(&mirror->services[i]->copy.sets);
		free(mirror->services[i]->copy.lines);
		free(mirror->services[i]->copy.places);
		free(mirror->services[i]->copy.rows);
		free(mirror->services[i]);
	}
	entries_clear(&mirror->entries);
	copies_clear(&mirror->copies);
	orders_clear(&mirror->orders);
	free(mirror);
}
