/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "control/change_log.h"
#include "control/registration.h"
#include "control/service_list.h"
#include "results.h"
#include "ring/backend.h"
#include "steering/ring/steering_ring.h"

enum { PATH_LEN_MAX = 512, MUX_RETRY_MS = 1000 };

struct tree {
	struct tree_options options;
	struct zk_client *zk;
	struct registration *registration;
	struct service_list *services;
	struct service_sync_context context;
	struct tree_access access;
	struct options mux_options; /* that steering methods check; theirs are not used */
	struct tables *tables;
	struct counters *counters;
	struct change_log *changes;
	char root[PATH_LEN_MAX], mux_path[PATH_LEN_MAX];
	json_t *mux; /* its node; NULL: there is none */
	uint64_t mux_at, scan_at, write_at;
	bool has_changed;  /* services, since the last scan */
	bool vips_changed; /* and they are not set yet */
};

static uint32_t generation_of(const json_t *mux, const char *service)
{
	const json_t *value = json_object_get(json_object_get(json_object_get(mux, "services"), service), "generation");
	json_int_t generation = json_is_integer(value) ? json_integer_value(value) : 0;

	return generation > 0 && generation <= UINT32_MAX ? (uint32_t)generation : 0;
}

uint32_t tree_mux_generation(const char *json, size_t len, const char *service)
{
	json_t *mux = json_loadb(json, len, 0, NULL);
	uint32_t generation = generation_of(mux, service);

	json_decref(mux);
	return generation;
}

/* --- the mux's node --------------------------------------------------------------------------------------------- */

static void set_generations(const struct tree *tree)
{
	for (unsigned i = 0; i < tree->options.pool->count; i++) {
		struct probed *service = tree->options.pool->services[i];
		uint32_t generation = generation_of(tree->mux, service->name);

		service->generation = generation ? generation : 1;
	}
}

static void read_mux(struct tree *tree);

static void on_mux_exists(void *context, const struct zk_reply *reply)
{
	struct tree *tree = context;

	if (reply->rc == ZOK) /* created meanwhile; otherwise the watch reports it */
		read_mux(tree);
	else if (reply->rc != ZNONODE)
		tree->mux_at = zk_now(tree->zk) + MUX_RETRY_MS;
}

static void on_mux(void *context, const struct zk_reply *reply)
{
	struct tree *tree = context;

	if (reply->rc == ZNONODE) {
		zk_exists(tree->zk, tree->mux_path, true, on_mux_exists, tree);
	} else if (reply->rc != ZOK) {
		tree->mux_at = zk_now(tree->zk) + MUX_RETRY_MS;
		return;
	}
	json_decref(tree->mux);
	tree->mux = reply->rc == ZOK ? json_loadb((const char *)reply->data, reply->len, 0, NULL) : NULL;
	set_generations(tree);
}

static void read_mux(struct tree *tree)
{
	tree->mux_at = UINT64_MAX;
	zk_get(tree->zk, tree->mux_path, true, on_mux, tree);
}

/* --- services --------------------------------------------------------------------------------------------------- */

static void on_changed_service(void *owner)
{
	struct tree *tree = owner;

	tree->has_changed = true;
}

static void on_vanished(void *owner)
{
	struct tree *tree = owner;

	watched_node_read(&tree->services->node);
}

/* The configuration as it is in the tree; muxes ignore its healthCheck. */
static void on_config(void *owner, const char *name, const struct zk_reply *reply)
{
	struct tree *tree = owner;
	struct probed *service = pool_get(tree->options.pool, name);
	struct reason why = {""};
	struct check check;

	tree->has_changed = true;
	if (!service || service->wanted_written == reply->written_ms)
		return;
	service->wanted_written = reply->written_ms;
	service->seen = 0;
	tree->vips_changed = true;
	if (check_parse((const char *)reply->data, reply->len, &check, &why)) {
		service->has_wanted = false;
		service->config_written = reply->written_ms;
		pool_refuse(tree->options.pool, service, PROBED_CHECK, why.text);
		fprintf(stderr, "probe event=check_refused service=%s why=\"%s\"\n", name, why.text);
		return;
	}
	/* until the ring is known with this configuration; what is probed goes on meanwhile */
	service->wanted = check;
	service->has_wanted = true;
	if (service->refusal != PROBED) {
		service->config_written = reply->written_ms;
		pool_refuse(tree->options.pool, service, PROBED_WAITING, "");
	}
}

/* Takes over what has changed of one service. */
static void follow(struct tree *tree, const struct service_sync *sync)
{
	const struct published_service *published = &sync->ring.published;
	struct probed *service = pool_find(tree->options.pool, sync->name);
	const struct ring *ring = published_ring(published);
	const struct backends *backends;

	if (!service || !ring || !service->has_wanted || service->seen == published->stamp)
		return;
	backends = ring_backends(ring);
	if (pool_set(tree->options.pool, service, &published->service->config, &service->wanted, backends->list,
		     backends->count))
		return; /* no memory: once more at the next scan */
	service->seen = published->stamp;
	service->config_written = service->wanted_written;
	tree->vips_changed = true;
	fprintf(stderr, "probe event=probing service=%s kind=%s backends=%u endpoints=%d%s%s%s\n", service->name,
		check_kind_name(service->check.kind), service->count, service->endpoints_count,
		service->why.text[0] ? " why=\"" : "", service->why.text, service->why.text[0] ? "\"" : "");
}

static const struct service_sync *sync_of(const struct tree *tree, const char *name)
{
	struct service_sync *const *syncs = tree->services->syncs;

	for (unsigned i = 0; i < tree->services->count; i++)
		if (!strcmp(syncs[i]->name, name) && !syncs[i]->is_deleted)
			return syncs[i];
	return NULL;
}

static void set_vips(struct tree *tree)
{
	const struct pool *pool = tree->options.pool;
	struct fl_address *vips = NULL;
	uint32_t count = 0;

	for (unsigned i = 0; i < pool->count; i++) {
		const struct service_config *config = &pool->services[i]->config;
		struct fl_address *more;

		if (pool->services[i]->refusal != PROBED)
			continue;
		more = realloc(vips, (count + config->vips_count) * sizeof(*vips));
		if (!more) {
			free(vips);
			return;
		}
		vips = more;
		for (uint32_t j = 0; j < config->vips_count; j++) { /* services may share one */
			bool is_there = false;

			for (uint32_t k = 0; k < count; k++)
				is_there |= fl_address_equal(&vips[k], &config->vips[j]);
			if (!is_there)
				vips[count++] = config->vips[j];
		}
	}
	tree->vips_changed = tree->options.vips(tree->options.context, vips, count) != 0;
	free(vips);
}

static void scan(struct tree *tree, uint64_t now_ms)
{
	struct service_sync *const *syncs = tree->services->syncs;
	struct pool *pool = tree->options.pool;

	tree->scan_at = now_ms + TREE_SCAN_MS;
	tree->has_changed = false;
	for (unsigned i = pool->count; i-- > 0;)
		if (!sync_of(tree, pool->services[i]->name)) {
			fprintf(stderr, "probe event=deleted service=%s\n", pool->services[i]->name);
			pool_remove(pool, pool->services[i]);
			tree->vips_changed = true;
		}
	for (unsigned i = 0; i < tree->services->count; i++)
		follow(tree, syncs[i]);
	if (!tree->vips_changed)
		return;
	set_generations(tree);
	set_vips(tree);
	tree_changed(tree);
}

/* --- the session ------------------------------------------------------------------------------------------------ */

static void on_connected(void *context)
{
	struct tree *tree = context;

	fprintf(stderr, "probe event=zookeeper_connected session=0x%" PRIx64 "\n", (uint64_t)zk_session(tree->zk));
	registration_connected(tree->registration);
	read_mux(tree);
	watched_node_hold(&tree->services->node);
	service_list_release(tree->services);
}

static void on_disconnected(void *context)
{
	const struct tree *tree = context;

	fprintf(stderr, "probe event=zookeeper_lost services=%u\n", tree->options.pool->count);
}

static void on_changed(void *context, const char *path)
{
	struct tree *tree = context;

	registration_watched(tree->registration, path);
	if (!strcmp(path, tree->mux_path))
		read_mux(tree);
	service_list_watched(tree->services, path);
}

static char *render(void *context)
{
	const struct tree *tree = context;

	return results_print(tree->options.pool, tree->options.id, tree->options.metrics);
}

/* Whoever has the node, this probe goes on and waits until it is gone: both find the same. */
static bool is_own_place(void *context, const char *text, char *address, size_t size)
{
	(void)context, (void)text;
	snprintf(address, size, "-");
	return true;
}

static void on_may_serve(void *context)
{
	(void)context;
}

static void on_hop(void *context, const struct fl_address *address, struct next_hop *out)
{
	(void)context;
	(void)address;
	*out = (struct next_hop){.resolved = true}; /* the kernel finds the way */
}

struct tree *tree_open(const struct tree_options *options, struct reason *why)
{
	static const struct zk_events events = {on_connected, on_disconnected, on_changed};
	static const struct next_hops hops = {.lookup = on_hop};
	static const struct registration_calls calls = {render, is_own_place, on_may_serve, NULL, NULL};
	struct tree *tree = calloc(1, sizeof(*tree));
	char path[PATH_LEN_MAX];

	if (!tree)
		goto fail;
	tree->options = *options;
	tree->mux_at = UINT64_MAX;
	tree->tables = tables_new(1, &hops);
	tree->counters = counters_new(1);
	tree->changes = change_log_new();
	if (!tree->tables || !tree->counters || !tree->changes)
		goto fail;
	tables_set_options(tree->tables, &tree->mux_options);
	tree->access.has_login = options->login && options->login->count;
	tree->zk = zk_open(options->zookeeper, options->login, &events, tree);
	if (!tree->zk) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(tree->root, sizeof(tree->root), "%s", options->root);
	snprintf(tree->mux_path, sizeof(tree->mux_path), "%s/muxes/%s/" REGISTRATION_NODE, options->root, options->id);
	snprintf(path, sizeof(path), "%s/health/%s", options->root, options->id);
	tree->registration = registration_new(tree->zk, path, &calls, tree);
	tree->context = (struct service_sync_context){
	    .zk = tree->zk,
	    .place = {.tables = tree->tables, .counters = tree->counters, .changes = tree->changes},
	    .root = tree->root,
	    .owner = tree,
	    .changed = on_changed_service,
	    .vanished = on_vanished,
	    .configured = on_config,
	    .steering = &steering_ring,
	};
	tree->services = service_list_new(&tree->context, &tree->access);
	return tree;
fail:
	if (!why->text[0])
		reason_set(why, -ENOMEM, "no memory");
	if (tree)
		tree_close(tree);
	return NULL;
}

void tree_close(struct tree *tree)
{
	if (tree->services)
		service_list_clear(tree->services);
	if (tree->zk)
		zk_close(tree->zk);
	if (tree->registration)
		registration_free(tree->registration);
	service_list_free(tree->services);
	if (tree->tables)
		tables_free(tree->tables);
	if (tree->counters)
		counters_free(tree->counters);
	if (tree->changes)
		free(tree->changes);
	json_decref(tree->mux);
	free(tree);
}

int tree_fd(const struct tree *tree)
{
	return zk_fd(tree->zk);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t tree_deadline(const struct tree *tree)
{
	uint64_t at = earlier(zk_deadline(tree->zk), tree->has_changed ? 0 : tree->scan_at);

	if (!zk_is_connected(tree->zk))
		return at;
	at = earlier(at, earlier(tree->mux_at, tree->write_at));
	at = earlier(at, registration_deadline(tree->registration));
	return earlier(at, service_list_deadline(tree->services));
}

void tree_changed(struct tree *tree)
{
	registration_changed(tree->registration, TREE_WRITE_MS);
}

void tree_run(struct tree *tree, uint64_t now_ms)
{
	zk_run(tree->zk, now_ms);
	if (zk_is_connected(tree->zk)) {
		if (now_ms >= tree->write_at) {
			tree->write_at = now_ms + TREE_REFRESH_MS;
			tree_changed(tree);
		}
		registration_run(tree->registration, now_ms);
		if (now_ms >= tree->mux_at)
			read_mux(tree);
		service_list_run(tree->services, now_ms);
	}
	if (tree->has_changed || now_ms >= tree->scan_at)
		scan(tree, now_ms);
}

bool tree_is_connected(const struct tree *tree)
{
	return zk_is_connected(tree->zk);
}

bool tree_is_registered(const struct tree *tree)
{
	return registration_is_registered(tree->registration);
}
