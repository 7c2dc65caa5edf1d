/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster/cluster_sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/clock.h"
#include "control/withdrawal/lag_withdrawal.h"
#include "control/service/ring_steps.h"

/* Our node has some 60 bytes for each service, which ZooKeeper writes thrice and controllers read. */
static void note_change(struct cluster_sync *cluster)
{
	uint32_t muxes = cluster->peers->alive;
	uint64_t spread = muxes > 1 ? (uint64_t)(muxes - 1) * REGISTRATION_SPREAD_MS : 0;
	uint64_t least = (uint64_t)cluster->services->count * REGISTRATION_SERVICE_MS;

	spread = spread > least ? spread : least;
	registration_changed(cluster->registration,
			     spread < REGISTRATION_SPREAD_MAX_MS ? (uint32_t)spread : REGISTRATION_SPREAD_MAX_MS);
}

/* The tree may be another cluster's. */
static void hold_all(struct cluster_sync *cluster)
{
	cluster->peers->is_held = true;
	watched_node_hold(&cluster->settled->node);
	watched_node_hold(&cluster->services->node);
}

/* Keeps what is served; the watch on the cluster's node reports when the tree is ours again. */
static void hold(struct cluster_sync *cluster, const char *found)
{
	if (!cluster->is_foreign)
		fprintf(stderr, "mux event=foreign_cluster expected=%s found=%s services=%u\n", cluster->name, found,
			cluster->services->count);
	cluster->is_foreign = true;
	hold_all(cluster);
}

static void release(struct cluster_sync *cluster)
{
	if (cluster->is_foreign)
		fprintf(stderr, "mux event=own_cluster cluster=%s services=%u\n", cluster->name,
			cluster->services->count);
	cluster->is_foreign = false;
	peer_watch_release(cluster->peers);
	watched_node_release(&cluster->settled->node);
	service_list_release(cluster->services);
}

static void set_leaving(struct cluster_sync *cluster)
{
	cluster->context.place.leaving = cluster->is_leaving || cluster->is_removed;
	cluster_sync_announce(cluster);
	note_change(cluster);
}

/* A mux that is not added any more announces nothing, since no other part counts it. */
static void set_removed(struct cluster_sync *cluster, bool is_removed)
{
	if (is_removed == cluster->is_removed)
		return;
	fprintf(stderr, "mux event=%s services=%u\n", is_removed ? "removed" : "added_again", cluster->services->count);
	cluster->is_removed = is_removed;
	set_leaving(cluster);
}

/* In another cluster's tree, an empty one, or one restored from an older backup, a missing entry is no order to stop. */
static void on_entry_missing(struct cluster_sync *cluster)
{
	if (registration_was_added(cluster->registration))
		set_removed(cluster, true);
	else if (!cluster->is_missing && !cluster->is_removed)
		fprintf(stderr,
			"mux event=entry_missing services=%u why=\"it was not removed: it serves on, and is not "
			"counted: fairleadctl mux add\"\n",
			cluster->services->count);
	cluster->is_missing = true;
}

static void on_cluster(void *context, const struct tree_reply *reply)
{
	struct cluster_sync *cluster = context;
	const char *found = (const char *)reply->data;
	unsigned services = cluster->services->count;
	bool is_ours;

	tree_access_note(&cluster->access, cluster->node.path, reply->result, services);
	if (reply->result == TREE_MISSING) {
		if (cluster->name[0] && services)
			hold(cluster, "none");
		else if (cluster->registration->may_serve)
			release(cluster);
		return;
	}
	if (reply->result == TREE_OK && (!reply->len || reply->len > CLUSTER_NAME_MAX))
		watched_node_retry(&cluster->node);
	if (reply->result != TREE_OK || !reply->len || reply->len > CLUSTER_NAME_MAX)
		return;
	is_ours = !strcmp(cluster->name, found);
	if (!is_ours && cluster->name[0] && services) {
		hold(cluster, found);
		return;
	}
	if (is_ours && cluster->registration->state == REGISTRATION_NOT_ADDED)
		on_entry_missing(cluster);
	if (!cluster->registration->may_serve)
		return;
	if (!is_ours) /* a mux without services follows any cluster */
		snprintf(cluster->name, sizeof(cluster->name), "%s", found);
	hello_join(cluster->hello, cluster->name);
	release(cluster);
}

static void on_connected(void *context)
{
	struct cluster_sync *cluster = context;

	fprintf(stderr, "mux event=zookeeper_connected session=0x%" PRIx64 "\n", (uint64_t)tree_session(cluster->tree));
	registration_connected(cluster->registration);
	peer_watch_connected(cluster->peers);
	watched_node_read(&cluster->seed->node);
	hold_all(cluster);
	if (cluster->registration->may_serve)
		watched_node_read(&cluster->node);
}

static void on_may_serve(void *context)
{
	struct cluster_sync *cluster = context;

	watched_node_read(&cluster->node);
}

/* The mux was added or removed; whether by this cluster, its name tells. */
static void on_added(void *context)
{
	struct cluster_sync *cluster = context;

	if (cluster->registration->state == REGISTRATION_NOT_ADDED) {
		watched_node_read(&cluster->node);
		return;
	}
	cluster->is_missing = false;
	set_removed(cluster, false);
}

static bool is_own_place(void *context, const char *text, char *address, size_t size)
{
	const struct cluster_sync *cluster = context;

	return mux_node_is_place(cluster->self, text, address, size);
}

static void on_refused(void *context, const char *address)
{
	const struct cluster_sync *cluster = context;
	struct reason why = {{0}};

	reason_set(&why, -EADDRINUSE,
		   "--id is '%s', the id of a live mux with the outer source %s; allowed: an id that no other "
		   "mux has",
		   cluster->id, address);
	cluster->refused(cluster->refused_context, &why);
}

static void on_disconnected(void *context)
{
	const struct cluster_sync *cluster = context;

	fprintf(stderr, "mux event=zookeeper_lost services=%u\n", cluster->services->count);
}

static void on_changed(void *context, const char *path)
{
	struct cluster_sync *cluster = context;

	registration_watched(cluster->registration, path);
	peer_watch_watched(cluster->peers, path);
	watched_node_fired(&cluster->seed->node, path);
	watched_node_fired(&cluster->settled->node, path);
	watched_node_fired(&cluster->node, path);
	service_list_watched(cluster->services, path);
}

static void on_service_changed(void *owner)
{
	note_change(owner);
}

static void on_vanished(void *owner)
{
	const struct cluster_sync *cluster = owner;

	watched_node_read(&cluster->services->node);
}

static void on_restored_cluster(void *context, const char *name, const struct fl_address *muxes, uint32_t count,
				const struct fl_siphash_key *seed, const struct settled *settled)
{
	struct cluster_sync *cluster = context;

	snprintf(cluster->name, sizeof(cluster->name), "%s", name);
	peer_watch_restore(cluster->peers, muxes, count);
	seed_watch_restore(cluster->seed, seed);
	settled_watch_restore(cluster->settled, settled);
	hello_join(cluster->hello, cluster->name);
	lag_withdrawal_listen(cluster->withdrawal, tree_now(cluster->tree));
}

/* Later, ZooKeeper's deltas and configuration apply to it as to any published service. */
static int on_restored_service(void *context, const struct service_config *config, struct delta *image,
			       const struct arrays_set *arrays, struct reason *why)
{
	const struct cluster_sync *cluster = context;
	struct published_service *published;
	struct service_sync *sync;
	int error;

	if (!service_config_is_name(config->name))
		return reason_set(why, -EINVAL, "name is '%.70s'; allowed: a service's name", config->name);
	sync = service_list_append(cluster->services, config->name);
	published = &sync->ring.published;
	lag_withdrawal_restore(cluster->withdrawal, published, image->generation, tree_now(cluster->tree));
	error = published_load(published, config, image, arrays, why);
	if (error) {
		service_list_take_back(cluster->services);
		return error;
	}
	published->saved_stamp = published->stamp;
	published->saved = image->generation;
	return 0;
}

/* Serves what is on disk if ZooKeeper has not been reached in time. A session that is there is waited for. */
static void restore(struct cluster_sync *cluster, uint64_t now_ms)
{
	const struct state_target target = {cluster, on_restored_cluster, on_restored_service};
	int restored;

	if (!cluster->restore_at) {
		cluster->restore_at = now_ms + CLUSTER_SYNC_RESTORE_MS;
		state_keeper_restore_cluster(cluster->state, &target); /* the others are heard meanwhile */
	}
	if (cluster->services->is_known)
		cluster->restore_at = UINT64_MAX;
	if (now_ms < cluster->restore_at || tree_is_connected(cluster->tree))
		return;
	restored = state_keeper_restore(cluster->state, &target);
	cluster->restore_at = restored < 0 ? now_ms + CLUSTER_SYNC_RETRY_MS : UINT64_MAX;
	cluster->is_restored = restored > 0;
	if (!cluster->is_restored)
		cluster->name[0] = 0;
}

/* What is served, to be kept on disk. */
static struct state_view view_of(const struct cluster_sync *cluster)
{
	return (struct state_view){
	    .cluster = cluster->name,
	    .muxes = cluster->peers->addresses,
	    .muxes_count = cluster->peers->count,
	    .seed = cluster->seed->used,
	    .settled = &cluster->settled->known,
	    .is_listed =
		cluster->services->is_known && !cluster->services->node.is_held && tree_is_connected(cluster->tree),
	    .syncs = cluster->services->syncs,
	    .count = cluster->services->count,
	};
}

/* A mux that starts next without ZooKeeper must not have an older ring than this one had. */
static void flush(struct cluster_sync *cluster)
{
	struct state_view view = view_of(cluster);

	cluster->context.place.leaving = true; /* no traffic comes meanwhile */
	cluster_sync_announce(cluster);
	state_keeper_flush(cluster->state, &view);
}

static char *render(void *context)
{
	const struct cluster_sync *cluster = context;

	return mux_node_print(cluster->self, cluster->services, cluster->needs, &cluster->unreachable);
}

struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct reason *why)
{
	static const struct tree_events events = {on_connected, on_disconnected, on_changed};
	static const struct registration_calls calls = {render, is_own_place, on_may_serve, on_refused, on_added};
	struct cluster_sync *cluster = tree_alloc(sizeof(*cluster));
	char *muxes, *entry;

	cluster->tree = tree_open(options->zookeeper, options->login, TREE_SESSION_MS, &events, cluster);
	if (!cluster->tree) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		free(cluster);
		return NULL;
	}
	/* Once it has lost ZooKeeper, only hellos tell it that it is behind. */
	cluster->self = mux_node_begin(&options->self, options->hello ? options->behind.seconds : 0);
	cluster->root = tree_copy(options->root);
	cluster->id = tree_copy(options->self.id);
	cluster->hello = options->hello;
	cluster->sick = (struct sick_withdrawal){
	    .hello = options->hello, .deadline_ms = UINT64_MAX, .seed = (unsigned)clock_ns(CLOCK_MONOTONIC)};
	cluster->needs = options->needs;
	cluster->refused = options->refused;
	cluster->refused_context = options->refused_context;
	cluster->access.has_login = options->login && options->login->count;
	cluster->context = (struct service_sync_context){
	    .tree = cluster->tree,
	    .place = {.tables = options->tables,
		      .counters = options->counters,
		      .announcer = options->announcer,
		      .changes = options->changes,
		      .teller = options->teller,
		      .settles = true},
	    .root = cluster->root,
	    .owner = cluster,
	    .changed = on_service_changed,
	    .vanished = on_vanished,
	};
	watched_node_begin(&cluster->node, cluster->tree, tree_path(options->root, "cluster"), on_cluster, cluster);
	muxes = tree_path(options->root, "muxes");
	entry = tree_path(muxes, options->self.id);
	cluster->registration = registration_new(cluster->tree, entry, &calls, cluster);
	cluster->peers = peer_watch_new(cluster->tree, muxes, options->tables, options->hello);
	cluster->seed = seed_watch_new(cluster->tree, options->root, options->tables);
	cluster->settled = settled_watch_new(cluster->tree, options->root);
	cluster->withdrawal = lag_withdrawal_new(cluster->tree, muxes, options->self.id, &options->behind,
						 options->hello ? options->hello->peers : NULL);
	if (options->state_dir && *options->state_dir)
		cluster->state = state_keeper_new(options->state_dir);
	cluster->services = service_list_new(&cluster->context, &cluster->access);
	free(muxes);
	free(entry);
	return cluster;
}

void cluster_sync_free(struct cluster_sync *cluster)
{
	if (cluster->state && cluster->name[0])
		flush(cluster);
	service_list_clear(cluster->services);
	tree_close(cluster->tree);
	registration_free(cluster->registration);
	peer_watch_free(cluster->peers);
	seed_watch_free(cluster->seed);
	settled_watch_free(cluster->settled);
	lag_withdrawal_free(cluster->withdrawal);
	free(cluster->unreachable.entries);
	state_keeper_free(cluster->state);
	service_list_free(cluster->services);
	json_decref(cluster->self);
	free(cluster->node.path);
	free(cluster->root);
	free(cluster->id);
	free(cluster);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cluster_sync_deadline(const struct cluster_sync *cluster)
{
	uint64_t at = earlier(tree_deadline(cluster->tree), lag_withdrawal_deadline(cluster->withdrawal));

	at = earlier(at, cluster->sick.deadline_ms);

	if (cluster->state)
		at = earlier(at, state_keeper_deadline(cluster->state));
	if (cluster->state && !tree_is_connected(cluster->tree))
		at = earlier(at, cluster->restore_at);
	if (!tree_is_connected(cluster->tree))
		return at; /* everything else waits for the connection */
	at = earlier(at, earlier(cluster->node.retry_at, registration_deadline(cluster->registration)));
	at = earlier(at, earlier(cluster->peers->list.retry_at, cluster->seed->node.retry_at));
	at = earlier(at, cluster->settled->node.retry_at);
	return earlier(at, service_list_deadline(cluster->services));
}

/* Everything that needs ZooKeeper. False: it is not connected, or holds another cluster. */
static bool follow(struct cluster_sync *cluster, uint64_t now_ms)
{
	if (!tree_is_connected(cluster->tree))
		return false;
	registration_run(cluster->registration, now_ms);
	watched_node_run(&cluster->peers->list, now_ms);
	watched_node_run(&cluster->seed->node, now_ms);
	if (!cluster->services->node.is_held)
		seed_watch_apply(cluster->seed);
	watched_node_run(&cluster->settled->node, now_ms);
	watched_node_run(&cluster->node, now_ms);
	service_list_run(cluster->services, now_ms);
	return !cluster->services->node.is_held;
}

static int compare_ids(const void *left, const void *right)
{
	return (int)((const struct hello_service *)left)->id - (int)((const struct hello_service *)right)->id;
}

static uint8_t flags_of(const struct published_service *published)
{
	if (published_announces(published) && published->sick.state != SICK_ASKS)
		return HELLO_ANNOUNCES;
	return published_is_behind(published) ? HELLO_BEHIND : 0;
}

/* Sends the hellos that are due. Services without a ring are left out. */
static void send_hellos(struct hello *hello, struct service_sync *const *syncs, unsigned count, uint64_t now_ms)
{
	struct hello_service *services;
	unsigned some = 0;

	if (!hello || now_ms < hello->send_at)
		return;
	services = tree_alloc((count + 1) * sizeof(*services));
	for (unsigned i = 0; i < count; i++) {
		const struct published_service *published = &syncs[i]->ring.published;
		uint32_t generation = ring_sync_generation(&syncs[i]->ring);

		if (published->service && generation)
			services[some++] = (struct hello_service){.id = published->service->id,
								  .flags = flags_of(published),
								  .generation = generation,
								  .settled = published->settled};
	}
	qsort(services, some, sizeof(*services), compare_ids);
	hello_send(hello, services, some, now_ms);
	free(services);
}

/* What must go on even while everything else waits for workers. */
static void look_after_sick(struct cluster_sync *cluster, bool may_return, uint64_t now_ms)
{
	struct service_sync *const *syncs = cluster->services->syncs;
	unsigned count = cluster->services->count;

	if (sick_withdrawal_run(&cluster->sick, syncs, count, may_return, now_ms))
		note_change(cluster);
	send_hellos(cluster->hello, syncs, count, now_ms);
	sick_withdrawal_repeat(&cluster->sick, now_ms);
}

void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms)
{
	struct service_sync *const *syncs;
	unsigned count;
	bool follows;

	tree_run(cluster->tree, now_ms);
	if (cluster->state) {
		struct state_view view;

		restore(cluster, now_ms);
		view = view_of(cluster);
		state_keeper_run(cluster->state, &view, now_ms);
	}
	follows = follow(cluster, now_ms);
	syncs = cluster->services->syncs;
	count = cluster->services->count;
	if (settled_watch_apply(cluster->settled, syncs, count, cluster->state, now_ms))
		note_change(cluster);
	if (lag_withdrawal_run(cluster->withdrawal, syncs, count, follows, now_ms))
		note_change(cluster);
	if (unreachable_run(&cluster->unreachable, syncs, count, now_ms))
		note_change(cluster);
	look_after_sick(cluster, true, now_ms);
}

void cluster_sync_wait(struct cluster_sync *cluster, uint64_t now_ms)
{
	look_after_sick(cluster, false, now_ms);
}

bool cluster_sync_announces(const struct cluster_sync *cluster)
{
	bool announces = false;

	for (unsigned i = 0; i < cluster->services->count; i++)
		announces |= published_announces(&cluster->services->syncs[i]->ring.published);
	return announces;
}

void cluster_sync_announce(struct cluster_sync *cluster)
{
	struct service_sync *const *syncs = cluster->services->syncs;

	for (unsigned i = 0; i < cluster->services->count; i++)
		published_announce(&syncs[i]->ring.published);
}

void cluster_sync_guard(struct cluster_sync *cluster)
{
	struct service_sync *const *syncs = cluster->services->syncs;

	for (unsigned i = 0; i < cluster->services->count; i++)
		ring_steps_guard(&syncs[i]->ring);
	note_change(cluster);
}

void cluster_sync_leave(struct cluster_sync *cluster)
{
	cluster->is_leaving = true;
	set_leaving(cluster);
}

const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after)
{
	return service_list_next(cluster->services, after);
}
