/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

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

struct cluster {
	struct cluster_options options;
	struct tree *tree;
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

uint32_t cluster_mux_generation(const char *json, size_t len, const char *service)
{
	json_t *mux = json_loadb(json, len, 0, NULL);
	uint32_t generation = generation_of(mux, service);

	json_decref(mux);
	return generation;
}

/* --- the mux's node --------------------------------------------------------------------------------------------- */

static void set_generations(const struct cluster *cluster)
{
	for (unsigned i = 0; i < cluster->options.pool->count; i++) {
		struct probed *service = cluster->options.pool->services[i];
		uint32_t generation = generation_of(cluster->mux, service->name);

		service->generation = generation ? generation : 1;
	}
}

static void read_mux(struct cluster *cluster);

static void on_mux_exists(void *context, const struct tree_reply *reply)
{
	struct cluster *cluster = context;

	if (reply->result == TREE_OK) /* created meanwhile; otherwise the watch reports it */
		read_mux(cluster);
	else if (reply->result != TREE_MISSING)
		cluster->mux_at = tree_now(cluster->tree) + MUX_RETRY_MS;
}

static void on_mux(void *context, const struct tree_reply *reply)
{
	struct cluster *cluster = context;

	if (reply->result == TREE_MISSING) {
		tree_exists(cluster->tree, cluster->mux_path, true, on_mux_exists, cluster);
	} else if (reply->result != TREE_OK) {
		cluster->mux_at = tree_now(cluster->tree) + MUX_RETRY_MS;
		return;
	}
	json_decref(cluster->mux);
	cluster->mux = reply->result == TREE_OK ? json_loadb((const char *)reply->data, reply->len, 0, NULL) : NULL;
	set_generations(cluster);
}

static void read_mux(struct cluster *cluster)
{
	cluster->mux_at = UINT64_MAX;
	tree_get(cluster->tree, cluster->mux_path, true, on_mux, cluster);
}

/* --- services --------------------------------------------------------------------------------------------------- */

static void on_changed_service(void *owner)
{
	struct cluster *cluster = owner;

	cluster->has_changed = true;
}

static void on_vanished(void *owner)
{
	struct cluster *cluster = owner;

	watched_node_read(&cluster->services->node);
}

/* The configuration as it is in the tree; muxes ignore its healthCheck. */
static void on_config(void *owner, const char *name, const struct tree_reply *reply)
{
	struct cluster *cluster = owner;
	struct probed *service = pool_get(cluster->options.pool, name);
	struct reason why = {""};
	struct check check;

	cluster->has_changed = true;
	if (!service || service->wanted_written == reply->written_ms)
		return;
	service->wanted_written = reply->written_ms;
	service->seen = 0;
	cluster->vips_changed = true;
	if (check_parse((const char *)reply->data, reply->len, &check, &why)) {
		service->has_wanted = false;
		service->config_written = reply->written_ms;
		pool_refuse(cluster->options.pool, service, PROBED_CHECK, why.text);
		fprintf(stderr, "probe event=check_refused service=%s why=\"%s\"\n", name, why.text);
		return;
	}
	/* until the ring is known with this configuration; what is probed goes on meanwhile */
	service->wanted = check;
	service->has_wanted = true;
	if (service->refusal != PROBED) {
		service->config_written = reply->written_ms;
		pool_refuse(cluster->options.pool, service, PROBED_WAITING, "");
	}
}

/* Takes over what has changed of one service. */
static void follow(struct cluster *cluster, const struct service_sync *sync)
{
	const struct published_service *published = &sync->ring.published;
	struct probed *service = pool_find(cluster->options.pool, sync->name);
	const struct ring *ring = published_ring(published);
	const struct backends *backends;

	if (!service || !ring || !service->has_wanted || service->seen == published->stamp)
		return;
	backends = ring_backends(ring);
	if (pool_set(cluster->options.pool, service, &published->service->config, &service->wanted, backends->list,
		     backends->count))
		return; /* no memory: once more at the next scan */
	service->seen = published->stamp;
	service->config_written = service->wanted_written;
	cluster->vips_changed = true;
	fprintf(stderr, "probe event=probing service=%s kind=%s backends=%u endpoints=%d%s%s%s\n", service->name,
		check_kind_name(service->check.kind), service->count, service->endpoints_count,
		service->why.text[0] ? " why=\"" : "", service->why.text, service->why.text[0] ? "\"" : "");
}

static const struct service_sync *sync_of(const struct cluster *cluster, const char *name)
{
	struct service_sync *const *syncs = cluster->services->syncs;

	for (unsigned i = 0; i < cluster->services->count; i++)
		if (!strcmp(syncs[i]->name, name) && !syncs[i]->is_deleted)
			return syncs[i];
	return NULL;
}

static void set_vips(struct cluster *cluster)
{
	const struct pool *pool = cluster->options.pool;
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
	cluster->vips_changed = cluster->options.vips(cluster->options.context, vips, count) != 0;
	free(vips);
}

static void scan(struct cluster *cluster, uint64_t now_ms)
{
	struct service_sync *const *syncs = cluster->services->syncs;
	struct pool *pool = cluster->options.pool;

	cluster->scan_at = now_ms + CLUSTER_SCAN_MS;
	cluster->has_changed = false;
	for (unsigned i = pool->count; i-- > 0;)
		if (!sync_of(cluster, pool->services[i]->name)) {
			fprintf(stderr, "probe event=deleted service=%s\n", pool->services[i]->name);
			pool_remove(pool, pool->services[i]);
			cluster->vips_changed = true;
		}
	for (unsigned i = 0; i < cluster->services->count; i++)
		follow(cluster, syncs[i]);
	if (!cluster->vips_changed)
		return;
	set_generations(cluster);
	set_vips(cluster);
	cluster_changed(cluster);
}

/* --- the session ------------------------------------------------------------------------------------------------ */

static void on_connected(void *context)
{
	struct cluster *cluster = context;

	fprintf(stderr, "probe event=zookeeper_connected session=0x%" PRIx64 "\n",
		(uint64_t)tree_session(cluster->tree));
	registration_connected(cluster->registration);
	read_mux(cluster);
	watched_node_hold(&cluster->services->node);
	service_list_release(cluster->services);
}

static void on_disconnected(void *context)
{
	const struct cluster *cluster = context;

	fprintf(stderr, "probe event=zookeeper_lost services=%u\n", cluster->options.pool->count);
}

static void on_changed(void *context, const char *path)
{
	struct cluster *cluster = context;

	registration_watched(cluster->registration, path);
	if (!strcmp(path, cluster->mux_path))
		read_mux(cluster);
	service_list_watched(cluster->services, path);
}

static char *render(void *context)
{
	const struct cluster *cluster = context;

	return results_print(cluster->options.pool, cluster->options.id, cluster->options.metrics);
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

struct cluster *cluster_open(const struct cluster_options *options, struct reason *why)
{
	static const struct tree_events events = {on_connected, on_disconnected, on_changed};
	static const struct next_hops hops = {.lookup = on_hop};
	static const struct registration_calls calls = {render, is_own_place, on_may_serve, NULL, NULL};
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	char path[PATH_LEN_MAX];

	if (!cluster)
		goto fail;
	cluster->options = *options;
	cluster->mux_at = UINT64_MAX;
	cluster->tables = tables_new(1, &hops);
	cluster->counters = counters_new(1);
	cluster->changes = change_log_new();
	if (!cluster->tables || !cluster->counters || !cluster->changes)
		goto fail;
	tables_set_options(cluster->tables, &cluster->mux_options);
	cluster->access.has_login = options->login && options->login->count;
	cluster->tree = tree_open(options->zookeeper, options->login, TREE_SESSION_MS, &events, cluster);
	if (!cluster->tree) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(cluster->root, sizeof(cluster->root), "%s", options->root);
	snprintf(cluster->mux_path, sizeof(cluster->mux_path), "%s/muxes/%s/" REGISTRATION_NODE, options->root,
		 options->id);
	snprintf(path, sizeof(path), "%s/health/%s", options->root, options->id);
	cluster->registration = registration_new(cluster->tree, path, &calls, cluster);
	cluster->context = (struct service_sync_context){
	    .tree = cluster->tree,
	    .place = {.tables = cluster->tables, .counters = cluster->counters, .changes = cluster->changes},
	    .root = cluster->root,
	    .owner = cluster,
	    .changed = on_changed_service,
	    .vanished = on_vanished,
	    .configured = on_config,
	    .steering = &steering_ring,
	};
	cluster->services = service_list_new(&cluster->context, &cluster->access);
	return cluster;
fail:
	if (!why->text[0])
		reason_set(why, -ENOMEM, "no memory");
	if (cluster)
		cluster_close(cluster);
	return NULL;
}

void cluster_close(struct cluster *cluster)
{
	if (cluster->services)
		service_list_clear(cluster->services);
	if (cluster->tree)
		tree_close(cluster->tree);
	if (cluster->registration)
		registration_free(cluster->registration);
	service_list_free(cluster->services);
	if (cluster->tables)
		tables_free(cluster->tables);
	if (cluster->counters)
		counters_free(cluster->counters);
	if (cluster->changes)
		free(cluster->changes);
	json_decref(cluster->mux);
	free(cluster);
}

int cluster_fd(const struct cluster *cluster)
{
	return tree_fd(cluster->tree);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cluster_deadline(const struct cluster *cluster)
{
	uint64_t at = earlier(tree_deadline(cluster->tree), cluster->has_changed ? 0 : cluster->scan_at);

	if (!tree_is_connected(cluster->tree))
		return at;
	at = earlier(at, earlier(cluster->mux_at, cluster->write_at));
	at = earlier(at, registration_deadline(cluster->registration));
	return earlier(at, service_list_deadline(cluster->services));
}

void cluster_changed(struct cluster *cluster)
{
	registration_changed(cluster->registration, CLUSTER_WRITE_MS);
}

void cluster_run(struct cluster *cluster, uint64_t now_ms)
{
	tree_run(cluster->tree, now_ms);
	if (tree_is_connected(cluster->tree)) {
		if (now_ms >= cluster->write_at) {
			cluster->write_at = now_ms + CLUSTER_REFRESH_MS;
			cluster_changed(cluster);
		}
		registration_run(cluster->registration, now_ms);
		if (now_ms >= cluster->mux_at)
			read_mux(cluster);
		service_list_run(cluster->services, now_ms);
	}
	if (cluster->has_changed || now_ms >= cluster->scan_at)
		scan(cluster, now_ms);
}

bool cluster_is_connected(const struct cluster *cluster)
{
	return tree_is_connected(cluster->tree);
}

bool cluster_is_registered(const struct cluster *cluster)
{
	return registration_is_registered(cluster->registration);
}
