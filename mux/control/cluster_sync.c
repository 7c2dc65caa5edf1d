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

enum { PATH_MAX_LEN = 512 };

struct cluster_sync {
	struct zk_client *zk;
	struct registration *registration;
	struct peer_watch *peers;
	struct lag_withdrawal *withdrawal;
	struct state_keeper *state; /* NULL: nothing is kept on disk */
	uint64_t restore_at;        /* 0: not known yet, UINT64_MAX: never */
	bool is_restored;
	struct hello *hello; /* NULL: no hellos */
	struct service_sync_context context;
	char *root;
	char *services; /* path of the list */
	json_t *self;   /* the constant part of our node */
	struct service_sync **syncs;
	unsigned count;
	bool has_list;
	bool list_missing; /* as last logged */
	bool is_listing;
	bool list_again; /* requested while it was being read */
	uint64_t relist_at;
	char *cluster_path;
	char name[CLUSTER_NAME_MAX + 1]; /* the cluster of these services, "": not known yet */
	bool is_foreign;                 /* the tree is another cluster's */
	bool is_held; /* the tree is, or since the last connection may be, another cluster's: nothing is read from it */
	uint64_t cluster_at; /* when to read it again, UINT64_MAX: never */
	bool has_login;
	bool is_denied; /* the tree may not be read, as last logged */
};

static void list(struct cluster_sync *cluster);

static struct service_sync *find(const struct cluster_sync *cluster, const char *name, size_t len)
{
	for (unsigned i = 0; i < cluster->count; i++)
		if (!strncmp(service_sync_name(cluster->syncs[i]), name, len) &&
		    !service_sync_name(cluster->syncs[i])[len])
			return cluster->syncs[i];
	return NULL;
}

/* A service that has read nothing yet. NULL: no memory. */
static struct service_sync *append(struct cluster_sync *cluster, const char *name)
{
	struct service_sync **syncs = realloc(cluster->syncs, (cluster->count + 1) * sizeof(struct service_sync *));
	struct service_sync *sync = service_sync_new(&cluster->context, name);

	if (syncs)
		cluster->syncs = syncs;
	if (!syncs || !sync) {
		if (sync)
			service_sync_end(sync);
		return NULL;
	}
	syncs[cluster->count++] = sync;
	return sync;
}

static bool add(struct cluster_sync *cluster, const char *name)
{
	struct service_sync *sync = append(cluster, name);

	if (sync)
		service_sync_refresh(sync);
	return sync;
}

/* The node's text has changed. */
static void note_change(struct cluster_sync *cluster)
{
	uint32_t muxes = peer_watch_count(cluster->peers);
	uint64_t spread = muxes > 1 ? (uint64_t)(muxes - 1) * REGISTRATION_SPREAD_MS : 0;

	registration_changed(cluster->registration,
			     spread < REGISTRATION_SPREAD_MAX_MS ? (uint32_t)spread : REGISTRATION_SPREAD_MAX_MS);
}

/* Services leave the list before they end, because our node is written from the list. */
static void end_unlisted(struct cluster_sync *cluster, const struct zk_reply *reply)
{
	unsigned count = cluster->count, kept = 0;

	for (unsigned i = 0; i < count; i++) {
		struct service_sync *sync = cluster->syncs[i];

		if (!zk_has_child(reply, service_sync_name(sync)))
			continue;
		cluster->syncs[i] = cluster->syncs[kept];
		cluster->syncs[kept++] = sync;
	}
	cluster->count = kept;
	for (unsigned i = kept; i < count; i++) {
		if (!service_sync_is_deleted(cluster->syncs[i]))
			fprintf(stderr, "mux event=deleted service=%s\n", service_sync_name(cluster->syncs[i]));
		service_sync_end(cluster->syncs[i]);
	}
	if (kept != count)
		note_change(cluster);
}

static void on_list_exists(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;

	if (reply->rc == ZOK) /* created meanwhile; otherwise the watch reports it */
		list(cluster);
	else if (reply->rc != ZNONODE)
		cluster->relist_at = zk_now(cluster->zk) + CLUSTER_SYNC_RELIST_MS;
}

static void note_list(struct cluster_sync *cluster, bool missing)
{
	if (missing != cluster->list_missing)
		fprintf(stderr, "mux event=list_%s path=%s services=%u\n", missing ? "missing" : "found",
			cluster->services, cluster->count);
	cluster->list_missing = missing;
}

/* The login is missing, wrong or no longer valid. Reads go on, since access may be granted later. */
static void note_denied(struct cluster_sync *cluster, const char *path, int rc)
{
	bool is_denied = rc == ZNOAUTH || rc == ZAUTHFAILED;

	if (is_denied == cluster->is_denied || (!is_denied && rc != ZOK))
		return;
	if (is_denied)
		fprintf(stderr, "mux event=zookeeper_denied path=%s services=%u why=\"--zookeeper-auth is %s\"\n", path,
			cluster->count, cluster->has_login ? "wrong" : "missing");
	else
		fprintf(stderr, "mux event=zookeeper_allowed path=%s services=%u\n", path, cluster->count);
	cluster->is_denied = is_denied;
}

static void on_list(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;

	cluster->is_listing = false;
	note_denied(cluster, cluster->services, reply->rc);
	if (reply->rc == ZNONODE) {
		note_list(cluster, true);
		zk_exists(cluster->zk, cluster->services, true, on_list_exists, cluster);
		return;
	}
	if (cluster->is_held) /* requested before the hold */
		return;
	if (reply->rc != ZOK) {
		cluster->relist_at = zk_now(cluster->zk) + CLUSTER_SYNC_RELIST_MS;
		return;
	}
	cluster->has_list = true;
	note_list(cluster, false);
	end_unlisted(cluster, reply);
	for (unsigned i = 0; i < cluster->count; i++)
		service_sync_confirm(cluster->syncs[i]);
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (!service_config_is_name(name))
			fprintf(stderr, "mux event=ignored service=\"%.80s\" why=\"not a service name\"\n", name);
		else if (!find(cluster, name, strlen(name)) && !add(cluster, name))
			cluster->relist_at = zk_now(cluster->zk) + CLUSTER_SYNC_RELIST_MS; /* no memory now */
	}
	if (cluster->list_again)
		list(cluster);
}

static void list(struct cluster_sync *cluster)
{
	cluster->list_again = cluster->is_listing;
	if (cluster->is_listing)
		return;
	cluster->is_listing = true;
	cluster->relist_at = UINT64_MAX;
	zk_children(cluster->zk, cluster->services, true, on_list, cluster);
}

static void refresh(struct cluster_sync *cluster)
{
	list(cluster);
	for (unsigned i = 0; i < cluster->count; i++)
		service_sync_refresh(cluster->syncs[i]);
}

/* Keeps what is served; the watch on the cluster's node reports when the tree is ours again. */
static void hold(struct cluster_sync *cluster, const char *found)
{
	if (!cluster->is_foreign)
		fprintf(stderr, "mux event=foreign_cluster expected=%s found=%s services=%u\n", cluster->name, found,
			cluster->count);
	cluster->is_foreign = true;
	cluster->is_held = true;
	cluster->relist_at = UINT64_MAX;
}

static void release(struct cluster_sync *cluster)
{
	if (cluster->is_foreign)
		fprintf(stderr, "mux event=own_cluster cluster=%s services=%u\n", cluster->name, cluster->count);
	cluster->is_foreign = false;
	cluster->is_held = false;
	refresh(cluster);
}

static void read_cluster(struct cluster_sync *cluster);

static void on_cluster_exists(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;

	if (reply->rc == ZOK) /* created meanwhile; otherwise the watch reports it */
		read_cluster(cluster);
	else if (reply->rc != ZNONODE)
		cluster->cluster_at = zk_now(cluster->zk) + CLUSTER_SYNC_RELIST_MS;
}

static void on_cluster(void *context, const struct zk_reply *reply)
{
	struct cluster_sync *cluster = context;
	const char *found = (const char *)reply->data;
	bool is_ours;

	note_denied(cluster, cluster->cluster_path, reply->rc);
	if (reply->rc == ZNONODE) {
		zk_exists(cluster->zk, cluster->cluster_path, true, on_cluster_exists, cluster);
		if (cluster->name[0] && cluster->count)
			hold(cluster, "none");
		else
			release(cluster);
		return;
	}
	if (reply->rc != ZOK || !reply->len || reply->len > CLUSTER_NAME_MAX) {
		cluster->cluster_at = zk_now(cluster->zk) + CLUSTER_SYNC_RELIST_MS;
		return;
	}
	is_ours = !strcmp(cluster->name, found);
	if (!is_ours && cluster->name[0] && cluster->count) {
		hold(cluster, found);
		return;
	}
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
	cluster->is_held = true;
	read_cluster(cluster);
}

static void on_disconnected(void *context)
{
	const struct cluster_sync *cluster = context;

	fprintf(stderr, "mux event=zookeeper_lost services=%u\n", cluster->count);
}

static void on_changed(void *context, const char *path)
{
	struct cluster_sync *cluster = context;
	size_t len = strlen(cluster->services);
	const char *name, *end;
	struct service_sync *sync;

	registration_watched(cluster->registration, path);
	peer_watch_watched(cluster->peers, path);
	if (!strcmp(path, cluster->cluster_path))
		read_cluster(cluster);
	if (cluster->is_held || strncmp(path, cluster->services, len))
		return;
	if (!path[len])
		list(cluster);
	if (path[len] != '/')
		return;
	name = path + len + 1;
	end = strchrnul(name, '/');
	sync = *end ? find(cluster, name, (size_t)(end - name)) : NULL;
	if (sync)
		service_sync_changed(sync, end + 1);
}

static void on_service_changed(void *owner)
{
	note_change(owner);
}

static void on_vanished(void *owner)
{
	list(owner);
}

static void on_restored_cluster(void *context, const char *name, const struct fl_address *muxes, uint32_t count)
{
	struct cluster_sync *cluster = context;

	snprintf(cluster->name, sizeof(cluster->name), "%s", name);
	peer_watch_restore(cluster->peers, muxes, count);
	hello_join(cluster->hello, cluster->name);
	lag_withdrawal_listen(cluster->withdrawal, zk_now(cluster->zk));
}

/* Later, ZooKeeper's deltas and configuration apply to it as to any published service. */
static int on_restored_service(void *context, const struct service_config *config, struct delta *image,
			       const struct steering_blob *blob, struct reason *why)
{
	struct cluster_sync *cluster = context;
	struct published_service *published;
	struct service_sync *sync;
	int error;

	if (!service_config_is_name(config->name))
		return reason_set(why, -EINVAL, "name is '%.70s'; allowed: a service's name", config->name);
	sync = append(cluster, config->name);
	if (!sync)
		return reason_set(why, -ENOMEM, "no memory");
	published = service_sync_published(sync);
	lag_withdrawal_restore(cluster->withdrawal, published, image->generation, zk_now(cluster->zk));
	error = published_load(published, config, image, blob, why);
	if (error) {
		cluster->count--;
		service_sync_end(sync);
		return error;
	}
	published->saved_stamp = published->stamp;
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
	if (cluster->has_list)
		cluster->restore_at = UINT64_MAX;
	if (now_ms < cluster->restore_at || zk_is_connected(cluster->zk))
		return;
	restored = state_keeper_restore(cluster->state, &target);
	cluster->restore_at = restored < 0 ? now_ms + CLUSTER_SYNC_RELIST_MS : UINT64_MAX;
	cluster->is_restored = restored > 0;
	if (!cluster->is_restored)
		cluster->name[0] = 0;
}

/* Keeps what is served on disk. */
static void keep(struct cluster_sync *cluster, uint64_t now_ms)
{
	struct state_view view = {
	    .cluster = cluster->name,
	    .is_listed = cluster->has_list && !cluster->is_held && zk_is_connected(cluster->zk),
	    .syncs = cluster->syncs,
	    .count = cluster->count,
	};

	view.muxes = peer_watch_addresses(cluster->peers, &view.muxes_count);
	state_keeper_run(cluster->state, &view, now_ms);
}

static char *render(void *context)
{
	const struct cluster_sync *cluster = context;

	return mux_node_print(cluster->self, cluster);
}

struct cluster_sync *cluster_sync_new(const struct cluster_sync_options *options, struct reason *why)
{
	static const struct zk_events events = {on_connected, on_disconnected, on_changed};
	struct cluster_sync *cluster = calloc(1, sizeof(*cluster));
	char path[PATH_MAX_LEN];

	if (!cluster)
		goto fail;
	cluster->relist_at = UINT64_MAX;
	cluster->cluster_at = UINT64_MAX;
	cluster->self = mux_node_begin(options);
	cluster->root = strdup(options->root);
	snprintf(path, sizeof(path), "%s/services", options->root);
	cluster->services = strdup(path);
	snprintf(path, sizeof(path), "%s/cluster", options->root);
	cluster->cluster_path = strdup(path);
	if (!cluster->self || !cluster->root || !cluster->services || !cluster->cluster_path)
		goto fail;
	cluster->has_login = options->login && options->login->count;
	cluster->zk = zk_open(options->zookeeper, options->login, &events, cluster);
	if (!cluster->zk) {
		reason_set(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(path, sizeof(path), "%s/muxes/%s", options->root, options->id);
	cluster->registration = registration_new(cluster->zk, path, render, cluster);
	snprintf(path, sizeof(path), "%s/muxes", options->root);
	cluster->hello = options->hello;
	cluster->peers = peer_watch_new(cluster->zk, path, options->tables, options->hello);
	cluster->withdrawal =
	    lag_withdrawal_new(cluster->zk, path, options->id, &options->behind, hello_peers(options->hello));
	if (options->state_dir && *options->state_dir)
		cluster->state = state_keeper_new(options->state_dir);
	if (!cluster->registration || !cluster->peers || !cluster->withdrawal ||
	    (options->state_dir && *options->state_dir && !cluster->state))
		goto fail;
	cluster->context = (struct service_sync_context){
	    .zk = cluster->zk,
	    .place = {.tables = options->tables,
		      .counters = options->counters,
		      .announcer = options->announcer,
		      .changes = options->changes,
		      .notices = options->notices},
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
	for (unsigned i = 0; i < cluster->count; i++)
		service_sync_end(cluster->syncs[i]);
	cluster->count = 0;
	if (cluster->zk)
		zk_close(cluster->zk);
	if (cluster->registration)
		registration_free(cluster->registration);
	if (cluster->peers)
		peer_watch_free(cluster->peers);
	if (cluster->withdrawal)
		lag_withdrawal_free(cluster->withdrawal);
	state_keeper_free(cluster->state);
	json_decref(cluster->self);
	free(cluster->syncs);
	free(cluster->services);
	free(cluster->cluster_path);
	free(cluster->root);
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
	if (cluster->is_held)
		return at;
	at = earlier(at, cluster->relist_at);
	for (unsigned i = 0; i < cluster->count; i++)
		at = earlier(at, service_sync_deadline(cluster->syncs[i]));
	return at;
}

/* Everything that needs ZooKeeper. False: it is not connected, or holds another cluster. */
static bool follow(struct cluster_sync *cluster, uint64_t now_ms)
{
	if (!zk_is_connected(cluster->zk))
		return false;
	registration_run(cluster->registration, now_ms);
	peer_watch_run(cluster->peers, now_ms);
	if (now_ms >= cluster->cluster_at)
		read_cluster(cluster);
	if (cluster->is_held)
		return false;
	if (now_ms >= cluster->relist_at)
		list(cluster);
	for (unsigned i = 0; i < cluster->count; i++)
		if (now_ms >= service_sync_deadline(cluster->syncs[i]))
			service_sync_refresh(cluster->syncs[i]);
	return true;
}

void cluster_sync_run(struct cluster_sync *cluster, uint64_t now_ms)
{
	zk_run(cluster->zk, now_ms);
	if (cluster->state) {
		restore(cluster, now_ms);
		keep(cluster, now_ms);
	}
	if (lag_withdrawal_run(cluster->withdrawal, cluster->syncs, cluster->count, follow(cluster, now_ms), now_ms))
		note_change(cluster);
	hello_round_run(cluster->hello, cluster->syncs, cluster->count, now_ms);
}

void cluster_sync_announce(struct cluster_sync *cluster)
{
	for (unsigned i = 0; i < cluster->count; i++)
		published_announce(service_sync_published(cluster->syncs[i]));
}

void cluster_sync_leave(struct cluster_sync *cluster)
{
	cluster->context.place.leaving = true;
	cluster_sync_announce(cluster);
	note_change(cluster);
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
	return cluster->has_list;
}

bool cluster_sync_is_restored(const struct cluster_sync *cluster)
{
	return cluster->is_restored;
}

const struct state_keeper *cluster_sync_state(const struct cluster_sync *cluster)
{
	return cluster->state;
}

bool cluster_sync_is_registered(const struct cluster_sync *cluster)
{
	return registration_is_registered(cluster->registration);
}

const struct service_sync *cluster_sync_next(const struct cluster_sync *cluster, const struct service_sync *after)
{
	unsigned i = 0;

	while (after && i < cluster->count && cluster->syncs[i] != after)
		i++;
	i += after ? 1 : 0;
	while (i < cluster->count && service_sync_is_deleted(cluster->syncs[i]))
		i++;
	return i < cluster->count ? cluster->syncs[i] : NULL;
}
