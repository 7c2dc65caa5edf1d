/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "control/member/registration.h"
#include "follower.h"
#include "results.h"
#include "tree/watched_node.h"

enum { PATH_LEN_MAX = 512 };

struct cluster {
	struct cluster_options options;
	struct tree *tree;
	struct registration *registration;
	struct watched_node list; /* of services */
	bool list_is_missing;     /* as last logged */
	struct tree_access access;
	struct follower_context context;
	struct follower **followers;
	unsigned followers_count;
	char root[PATH_LEN_MAX];
	struct watched_node mux_node;
	json_t *mux; /* what it has; NULL: there is none */
	uint64_t scan_at, write_at;
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

static void on_mux(void *context, const struct tree_reply *reply)
{
	struct cluster *cluster = context;

	if (reply->result != TREE_OK && reply->result != TREE_MISSING)
		return;
	json_decref(cluster->mux);
	cluster->mux = reply->result == TREE_OK ? json_loadb((const char *)reply->data, reply->len, 0, NULL) : NULL;
	set_generations(cluster);
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

	watched_node_read(&cluster->list);
}

/* The configuration as it is in the tree; muxes ignore its healthCheck. */
static void on_config(void *owner, const char *name, const struct tree_reply *reply)
{
	struct cluster *cluster = owner;
	struct probed *service = pool_get(cluster->options.pool, name);
	struct reason why = {""};
	struct check check;
	bool was_refused;

	cluster->has_changed = true;
	if (!service || service->wanted_written == reply->written_ms)
		return;
	service->wanted_written = reply->written_ms;
	service->seen = 0;
	cluster->vips_changed = true;
	was_refused = service->refusal == PROBED_CHECK && !service->has_wanted;
	if (check_parse((const char *)reply->data, reply->len, &check, &why)) {
		refusal_make_printable(why.text);
		service->has_wanted = false;
		service->config_written = reply->written_ms;
		pool_refuse(cluster->options.pool, service, PROBED_CHECK, why.text);
		fprintf(stderr, "probe event=check_refused service=%s why=\"%s\"\n", name, why.text);
		return;
	}
	if (was_refused)
		fprintf(stderr, "probe event=check_accepted service=%s\n", name);
	/* until the ring is known with this configuration; what is probed goes on meanwhile */
	service->wanted = check;
	service->has_wanted = true;
	if (service->refusal != PROBED) {
		service->config_written = reply->written_ms;
		pool_refuse(cluster->options.pool, service, PROBED_WAITING, "");
	}
}

/* Takes over what has changed of one service. */
static void follow(struct cluster *cluster, const struct follower *follower)
{
	struct probed *service = pool_find(cluster->options.pool, follower->name);

	if (!service || !follower_is_ready(follower) || !service->has_wanted || service->seen == follower->stamp)
		return;
	if (pool_set(cluster->options.pool, service, &follower->config, &service->wanted, follower->backends,
		     follower->backends_count))
		return; /* no memory: once more at the next scan */
	service->seen = follower->stamp;
	service->config_written = service->wanted_written;
	cluster->vips_changed = true;
	fprintf(stderr, "probe event=probing service=%s kind=%s backends=%u endpoints=%d%s%s%s\n", service->name,
		check_kind_name(service->check.kind), service->count, service->endpoints_count,
		service->why.text[0] ? " why=\"" : "", service->why.text, service->why.text[0] ? "\"" : "");
}

/* NULL: it is not listed. */
static struct follower *find(const struct cluster *cluster, const char *name, size_t len)
{
	for (unsigned i = 0; i < cluster->followers_count; i++)
		if (!strncmp(cluster->followers[i]->name, name, len) && !cluster->followers[i]->name[len])
			return cluster->followers[i];
	return NULL;
}

static void add(struct cluster *cluster, const char *name)
{
	struct follower **more = tree_alloc((cluster->followers_count + 1) * sizeof(*more));

	if (cluster->followers_count)
		memcpy(more, cluster->followers, cluster->followers_count * sizeof(*more));
	free(cluster->followers);
	cluster->followers = more;
	more[cluster->followers_count] = follower_new(&cluster->context, name);
	follower_refresh(more[cluster->followers_count++]);
}

/* Without the list nothing ends: an empty tree is more likely an accident than intended. */
static void on_list(void *context, const struct tree_reply *reply)
{
	struct cluster *cluster = context;
	bool is_missing = reply->result == TREE_MISSING;

	tree_access_note(&cluster->access, cluster->list.path, reply->result, cluster->followers_count);
	if (reply->result != TREE_OK && !is_missing)
		return;
	if (is_missing != cluster->list_is_missing)
		fprintf(stderr, "probe event=list_%s path=%s services=%u\n", is_missing ? "missing" : "found",
			cluster->list.path, cluster->followers_count);
	cluster->list_is_missing = is_missing;
	if (is_missing)
		return;
	for (unsigned i = cluster->followers_count; i-- > 0;) {
		struct follower *follower = cluster->followers[i];

		if (tree_has_child(reply, follower->name)) {
			follower_confirm(follower);
			continue;
		}
		cluster->followers[i] = cluster->followers[--cluster->followers_count];
		follower_end(follower);
	}
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (!service_config_is_name(name))
			fprintf(stderr, "probe event=ignored service=\"%.80s\" why=\"not a service name\"\n", name);
		else if (!find(cluster, name, strlen(name)))
			add(cluster, name);
	}
	cluster->has_changed = true;
}

/* A watch fired below the list. */
static void changed_below(struct cluster *cluster, const char *path)
{
	size_t len = strlen(cluster->list.path);
	const char *name, *end;
	struct follower *follower;

	if (strncmp(path, cluster->list.path, len) != 0 || path[len] != '/')
		return;
	name = path + len + 1;
	end = strchrnul(name, '/');
	follower = *end ? find(cluster, name, (size_t)(end - name)) : NULL;
	if (follower)
		follower_changed(follower, end + 1);
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
	struct pool *pool = cluster->options.pool;

	cluster->scan_at = now_ms + CLUSTER_SCAN_MS;
	cluster->has_changed = false;
	for (unsigned i = pool->count; i-- > 0;) {
		const char *name = pool->services[i]->name;
		const struct follower *follower = find(cluster, name, strlen(name));

		if (follower && !follower->is_deleted)
			continue;
		fprintf(stderr, "probe event=deleted service=%s\n", name);
		pool_remove(pool, pool->services[i]);
		cluster->vips_changed = true;
	}
	for (unsigned i = 0; i < cluster->followers_count; i++)
		follow(cluster, cluster->followers[i]);
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
	watched_node_read(&cluster->mux_node);
	watched_node_read(&cluster->list);
	for (unsigned i = 0; i < cluster->followers_count; i++)
		follower_refresh(cluster->followers[i]);
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
	watched_node_fired(&cluster->mux_node, path);
	watched_node_fired(&cluster->list, path);
	changed_below(cluster, path);
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

struct cluster *cluster_open(const struct cluster_options *options, struct reason *why)
{
	static const struct tree_events events = {on_connected, on_disconnected, on_changed};
	static const struct registration_calls calls = {render, is_own_place, on_may_serve, NULL, NULL};
	struct cluster *cluster = calloc(1, sizeof(*cluster));
	char path[PATH_LEN_MAX];

	if (!cluster)
		goto fail;
	cluster->options = *options;
	cluster->access.has_login = options->login && options->login->count;
	cluster->tree = tree_open(options->zookeeper, options->login, TREE_SESSION_MS, &events, cluster);
	if (!cluster->tree) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(cluster->root, sizeof(cluster->root), "%s", options->root);
	snprintf(path, sizeof(path), "%s/muxes/%s/" REGISTRATION_NODE, options->root, options->id);
	watched_node_begin(&cluster->mux_node, cluster->tree, tree_copy(path), on_mux, cluster);
	snprintf(path, sizeof(path), "%s/health/%s", options->root, options->id);
	cluster->registration = registration_new(cluster->tree, path, &calls, cluster);
	cluster->context = (struct follower_context){
	    .tree = cluster->tree,
	    .root = cluster->root,
	    .owner = cluster,
	    .configured = on_config,
	    .changed = on_changed_service,
	    .vanished = on_vanished,
	};
	watched_node_begin(&cluster->list, cluster->tree, tree_path(options->root, "services"), on_list, cluster);
	cluster->list.is_list = true;
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
	for (unsigned i = 0; i < cluster->followers_count; i++)
		follower_end(cluster->followers[i]);
	cluster->followers_count = 0;
	if (cluster->tree)
		tree_close(cluster->tree);
	if (cluster->registration)
		registration_free(cluster->registration);
	free(cluster->followers);
	free(cluster->list.path);
	free(cluster->mux_node.path);
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
	at = earlier(at, earlier(cluster->mux_node.retry_at, cluster->write_at));
	at = earlier(at, registration_deadline(cluster->registration));
	for (unsigned i = 0; i < cluster->followers_count; i++)
		at = earlier(at, cluster->followers[i]->backoff.retry_at);
	return earlier(at, cluster->list.retry_at);
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
		watched_node_run(&cluster->mux_node, now_ms);
		watched_node_run(&cluster->list, now_ms);
		for (unsigned i = 0; i < cluster->followers_count; i++)
			follower_run(cluster->followers[i], now_ms);
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
