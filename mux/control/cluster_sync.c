/* SPDX-License-Identifier: Apache-2.0 */
#include "control/cluster_sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "control/hello_round.h"
#include "control/lag_withdrawal.h"
#include "control/mux_node.h"
#include "control/peer_watch.h"
#include "control/registration.h"
#include "control/seed_watch.h"
#include "control/settled_watch.h"
#include "control/service_list.h"
#include "control/tree_access.h"
#include "control/unreachable.h"

enum { PATH_MAX_LEN = 512 };

struct cluster_sync {
	struct zk_client *zk;
	struct registration *registration;
	struct peer_watch *peers;
	struct seed_watch *seed;
	struct settled_watch *settled;
	struct lag_withdrawal *withdrawal;
	struct unreachable *unreachable;
	struct state_keeper *state; /* NULL: nothing is kept on disk */
	uint64_t restore_at;        /* 0: not known yet, UINT64_MAX: never */
	bool is_restored;
	struct hello *hello; /* NULL: no hellos */
	const struct needs *needs;
	void (*refused)(void *context, const struct reason *why);
	void *refused_context;
	char *id;
	struct service_sync_context context;
	struct service_list *services;
	struct tree_access access;
	char *root;
	json_t *self; /* the constant part of our node */
	char *cluster_path;
	char name[CLUSTER_NAME_MAX + 1]; /* the cluster of these services, "": not known yet */
	bool is_foreign;                 /* the tree is another cluster's */
	bool is_leaving;                 /* the mux is about to stop */
	bool is_removed;                 /* an operator took it out of the cluster while it served */
	bool is_missing;                 /* there is no entry, as last logged */
	uint64_t cluster_at;             /* when to read it again, UINT64_MAX: never */
};

/* The node's text has changed. */
static void note_change(struct cluster_sync *cluster)
{
	uint32_t muxes = peer_watch_count(cluster->peers);
	uint64_t spread = muxes > 1 ? (uint64_t)(muxes - 1) * REGISTRATION_SPREAD_MS : 0;

	registration_changed(cluster->registration,
			     spread < REGISTRATION_SPREAD_MAX_MS ? (uint32_t)spread : REGISTRATION_SPREAD_MAX_MS);
}

/* Keeps what is served; the watch on the cluster's node reports when the tree is ours again. */
static void hold(struct cluster_sync *cluster, const char *found)
{
	if (!cluster->is_foreign)
		fprintf(stderr, "mux event=foreign_cluster expected=%s found=%s services=%u\n", cluster->name, found,
			service_list_count(cluster->services));
	cluster->is_foreign = true;
	peer_watch_hold(cluster->peers);
	settled_watch_hold(cluster->settled);
	service_list_hold(cluster->services);
}

static void release(struct cluster_sync *cluster)
{
	if (cluster->is_foreign)
		fprintf(stderr, "mux event=own_cluster cluster=%s services=%u\n", cluster->name,
			service_list_count(cluster->services));
	cluster->is_foreign = false;
	peer_watch_release(cluster->peers);
	settled_watch_release(cluster->settled);
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
	fprintf(stderr, "mux event=%s services=%u\n", is_removed ? "removed" : "added_again",
		service_list_count(cluster->services));
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
			service_list_count(cluster->services));
	cluster->is_missing = true;
}

static void read_cluster(struct cluster_sync *cluster);

static void on_cluster_exists(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;

	if (reply->rc == ZOK) /* created meanwhile; otherwise the watch reports it */
		read_cluster(cluster);
	else if (reply->rc != ZNONODE)
		cluster->cluster_at = zk_now(cluster->zk) + CLUSTER_SYNC_RETRY_MS;
}

static void on_cluster(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;
	const char *found = (const char *)reply->data;
	unsigned services = service_list_count(cluster->services);
	bool is_ours;

	tree_access_note(&cluster->access, cluster->cluster_path, reply->rc, services);
	if (reply->rc == ZNONODE) {
		zk_exists(cluster->zk, cluster->cluster_path, true, on_cluster_exists, cluster);
		if (cluster->name[0] && services)
			hold(cluster, "none");
		else if (registration_may_serve(cluster->registration))
			release(cluster);
		return;
	}
	if (reply->rc != ZOK || !reply->len || reply->len > CLUSTER_NAME_MAX) {
		cluster->cluster_at = zk_now(cluster->zk) + CLUSTER_SYNC_RETRY_MS;
		return;
	}
	is_ours = !strcmp(cluster->name, found);
	if (!is_ours && cluster->name[0] && services) {
		hold(cluster, found);
		return;
	}
	if (is_ours && registration_state(cluster->registration) == REGISTRATION_NOT_ADDED)
		on_entry_missing(cluster);
	if (!registration_may_serve(cluster->registration))
		return;
	if (!is_ours) /* a mux without services follows any cluster */
		snprintf(cluster->name, sizeof(cluster->name), "%s", found);
	hello_join(cluster->hello, cluster->name);
	release(cluster);
}

static void read_cluster(struct cluster_sync *cluster)
{
	cluster->cluster_at = UINT64_MAX;
	zk_get(cluster->zk, cluster->cluster_path, true, on_cluster, cluster);
}

static void on_connected(void *context)
{
	struct cluster_sync *cluster = context;

	fprintf(stderr, "mux event=zookeeper_connected session=0x%" PRIx64 "\n", (uint64_t)zk_session(cluster->zk));
	registration_connected(cluster->registration);
	peer_watch_connected(cluster->peers);
	seed_watch_connected(cluster->seed);
	peer_watch_hold(cluster->peers); /* it may be another cluster's tree by now */
	settled_watch_hold(cluster->settled);
	service_list_hold(cluster->services);
	if (registration_may_serve(cluster->registration))
		read_cluster(cluster);
}

static void on_may_serve(void *context)
{
	read_cluster(context);
}

/* The mux was added or removed; whether by this cluster, its name tells. */
static void on_added(void *context)
{
	struct cluster_sync *cluster = context;

	if (registration_state(cluster->registration) == REGISTRATION_NOT_ADDED) {
		read_cluster(cluster);
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

	fprintf(stderr, "mux event=zookeeper_lost services=%u\n", service_list_count(cluster->services));
}

static void on_changed(void *context, const char *path)
{
	struct cluster_sync *cluster = context;

	registration_watched(cluster->registration, path);
	peer_watch_watched(cluster->peers, path);
	seed_watch_watched(cluster->seed, path);
	settled_watch_watched(cluster->settled, path);
	if (!strcmp(path, cluster->cluster_path))
		read_cluster(cluster);
	service_list_watched(cluster->services, path);
}

static void on_service_changed(void *owner)
{
	note_change(owner);
}

static void on_vanished(void *owner)
{
	const struct cluster_sync *cluster = owner;

	service_list_read(cluster->services);
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
	lag_withdrawal_listen(cluster->withdrawal, zk_now(cluster->zk));
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
	if (!sync)
		return reason_set(why, -ENOMEM, "no memory");
	published = service_sync_published(sync);
	lag_withdrawal_restore(cluster->withdrawal, published, image->generation, zk_now(cluster->zk));
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
	if (service_list_is_known(cluster->services))
		cluster->restore_at = UINT64_MAX;
	if (now_ms < cluster->restore_at || zk_is_connected(cluster->zk))
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
	struct state_view view = {
	    .cluster = cluster->name,
	    .seed = seed_watch_used(cluster->seed),
	    .settled = settled_watch_known(cluster->settled),
	    .is_listed = service_list_is_known(cluster->services) && !service_list_is_held(cluster->services) &&
			 zk_is_connected(cluster->zk),
	    .syncs = service_list_syncs(cluster->services),
	    .count = service_list_count(cluster->services),
	};

	view.muxes = peer_watch_addresses(cluster->peers, &view.muxes_count);
	return view;
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

	return mux_node_print(cluster->self, cluster);
}

struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct reason *why)
{
	static const struct zk_events events = {on_connected, on_disconnected, on_changed};
	static const struct registration_calls calls = {render, is_own_place, on_may_serve, on_refused, on_added};
	struct cluster_sync *cluster = calloc(1, sizeof(*cluster));
	char path[PATH_MAX_LEN];

	if (!cluster)
		goto fail;
	cluster->cluster_at = UINT64_MAX;
	cluster->self = mux_node_begin(options);
	cluster->root = strdup(options->root);
	cluster->id = strdup(options->id);
	cluster->refused = options->refused;
	cluster->refused_context = options->refused_context;
	snprintf(path, sizeof(path), "%s/cluster", options->root);
	cluster->cluster_path = strdup(path);
	if (!cluster->self || !cluster->root || !cluster->id || !cluster->cluster_path)
		goto fail;
	cluster->access.has_login = options->login && options->login->count;
	cluster->zk = zk_open(options->zookeeper, options->login, &events, cluster);
	if (!cluster->zk) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(path, sizeof(path), "%s/muxes/%s", options->root, options->id);
	cluster->registration = registration_new(cluster->zk, path, &calls, cluster);
	snprintf(path, sizeof(path), "%s/muxes", options->root);
	cluster->hello = options->hello;
	cluster->needs = options->needs;
	cluster->peers = peer_watch_new(cluster->zk, path, options->tables, options->hello);
	cluster->seed = seed_watch_new(cluster->zk, options->root, options->tables);
	cluster->settled = settled_watch_new(cluster->zk, options->root);
	cluster->withdrawal =
	    lag_withdrawal_new(cluster->zk, path, options->id, &options->behind, hello_peers(options->hello));
	cluster->unreachable = unreachable_new();
	if (options->state_dir && *options->state_dir)
		cluster->state = state_keeper_new(options->state_dir);
	cluster->services = service_list_new(&cluster->context, cluster->root, &cluster->access);
	if (!cluster->registration || !cluster->peers || !cluster->seed || !cluster->settled || !cluster->withdrawal ||
	    !cluster->unreachable || !cluster->services ||
	    (options->state_dir && *options->state_dir && !cluster->state))
		goto fail;
	cluster->context = (struct service_sync_context){
	    .zk = cluster->zk,
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
	return cluster;
fail:
	if (!why->text[0])
		reason_set(why, -ENOMEM, "no memory");
	if (cluster)
		cluster_sync_free(cluster);
	return NULL;
}

void cluster_sync_free(struct cluster_sync *cluster)
{
	if (cluster->state && cluster->name[0])
		flush(cluster);
	if (cluster->services)
		service_list_clear(cluster->services);
	if (cluster->zk)
		zk_close(cluster->zk);
	if (cluster->registration)
		registration_free(cluster->registration);
	if (cluster->peers)
		peer_watch_free(cluster->peers);
	seed_watch_free(cluster->seed);
	settled_watch_free(cluster->settled);
	if (cluster->withdrawal)
		lag_withdrawal_free(cluster->withdrawal);
	unreachable_free(cluster->unreachable);
	state_keeper_free(cluster->state);
	service_list_free(cluster->services);
	json_decref(cluster->self);
	free(cluster->cluster_path);
	free(cluster->root);
	free(cluster->id);
	free(cluster);
}

int cluster_sync_fd(const struct cluster_sync *cluster)
{
	return zk_fd(cluster->zk);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t cluster_sync_deadline(const struct cluster_sync *cluster)
{
	uint64_t at = earlier(zk_deadline(cluster->zk), lag_withdrawal_deadline(cluster->withdrawal));

	if (cluster->state)
		at = earlier(at, state_keeper_deadline(cluster->state));
	if (cluster->state && !zk_is_connected(cluster->zk))
		at = earlier(at, cluster->restore_at);
	if (!zk_is_connected(cluster->zk))
		return at; /* everything else waits for the connection */
	at = earlier(at, earlier(cluster->cluster_at, registration_deadline(cluster->registration)));
	at = earlier(at, earlier(peer_watch_deadline(cluster->peers), seed_watch_deadline(cluster->seed)));
	at = earlier(at, settled_watch_deadline(cluster->settled));
	return earlier(at, service_list_deadline(cluster->services));
}

/* Everything that needs ZooKeeper. False: it is not connected, or holds another cluster. */
static bool follow(struct cluster_sync *cluster, uint64_t now_ms)
{
	if (!zk_is_connected(cluster->zk))
		return false;
	registration_run(cluster->registration, now_ms);
	peer_watch_run(cluster->peers, now_ms);
	seed_watch_run(cluster->seed, now_ms);
	if (!service_list_is_held(cluster->services))
		seed_watch_apply(cluster->seed);
	settled_watch_run(cluster->settled, now_ms);
	if (now_ms >= cluster->cluster_at)
		read_cluster(cluster);
	service_list_run(cluster->services, now_ms);
	return !service_list_is_held(cluster->services);
}

void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms)
{
	struct service_sync *const *syncs;
	unsigned count;
	bool follows;

	zk_run(cluster->zk, now_ms);
	if (cluster->state) {
		struct state_view view;

		restore(cluster, now_ms);
		view = view_of(cluster);
		state_keeper_run(cluster->state, &view, now_ms);
	}
	follows = follow(cluster, now_ms);
	syncs = service_list_syncs(cluster->services);
	count = service_list_count(cluster->services);
	if (settled_watch_apply(cluster->settled, syncs, count, cluster->state, now_ms))
		note_change(cluster);
	if (lag_withdrawal_run(cluster->withdrawal, syncs, count, follows, now_ms))
		note_change(cluster);
	if (unreachable_run(cluster->unreachable, syncs, count, now_ms))
		note_change(cluster);
	hello_round_run(cluster->hello, syncs, count, now_ms);
}

void cluster_sync_announce(struct cluster_sync *cluster)
{
	struct service_sync *const *syncs = service_list_syncs(cluster->services);

	for (unsigned i = 0; i < service_list_count(cluster->services); i++)
		published_announce(service_sync_published(syncs[i]));
}

void cluster_sync_guard(struct cluster_sync *cluster)
{
	struct service_sync *const *syncs = service_list_syncs(cluster->services);

	for (unsigned i = 0; i < service_list_count(cluster->services); i++)
		service_sync_guard(syncs[i]);
	note_change(cluster);
}

const struct unreachable *cluster_sync_unreachable(const struct cluster_sync *cluster)
{
	return cluster->unreachable;
}

const struct needs *cluster_sync_needs(const struct cluster_sync *cluster)
{
	return cluster->needs;
}

void cluster_sync_leave(struct cluster_sync *cluster)
{
	cluster->is_leaving = true;
	set_leaving(cluster);
}

uint64_t cluster_sync_lag_ms(const struct cluster_sync *cluster, const struct service_sync *sync)
{
	return lag_ms(&service_sync_view_published(sync)->lag, zk_now(cluster->zk));
}

bool cluster_sync_is_connected(const struct cluster_sync *cluster)
{
	return zk_is_connected(cluster->zk);
}

bool cluster_sync_is_foreign(const struct cluster_sync *cluster)
{
	return cluster->is_foreign;
}

bool cluster_sync_has_list(const struct cluster_sync *cluster)
{
	return service_list_is_known(cluster->services);
}

bool cluster_sync_is_restored(const struct cluster_sync *cluster)
{
	return cluster->is_restored;
}

const struct state_keeper *cluster_sync_state(const struct cluster_sync *cluster)
{
	return cluster->state;
}

const struct clock_compare *cluster_sync_clock(const struct cluster_sync *cluster)
{
	return registration_clock(cluster->registration);
}

uint32_t cluster_sync_seconds(const struct cluster_sync *cluster)
{
	return registration_seconds(cluster->registration);
}

bool cluster_sync_is_registered(const struct cluster_sync *cluster)
{
	return registration_is_registered(cluster->registration);
}

const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after)
{
	struct service_sync *const *syncs = service_list_syncs(cluster->services);
	unsigned i = 0, count = service_list_count(cluster->services);

	while (after && i < count && syncs[i++] != after)
		;
	while (i < count && service_sync_is_deleted(syncs[i]))
		i++;
	return i < count ? syncs[i] : NULL;
}
