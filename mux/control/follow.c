/* SPDX-License-Identifier: Apache-2.0 */
#include "control/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "config/address.h"
#include "control/behind.h"
#include "control/muxes.h"
#include "control/node.h"

#ifndef FAIRLEAD_VERSION
#error "FAIRLEAD_VERSION comes from meson"
#endif

enum { NODE_FORMAT = 1, PATH_MAX_LEN = 512 };

struct follow {
	struct store *store;
	struct node *node;
	struct muxes *muxes;
	struct behind *behind;
	struct feed_context context;
	char *root;
	char *services; /* path of the list */
	json_t *self;   /* what never changes of our node */
	struct feed **feeds;
	unsigned count;
	bool has_list;
	bool list_missing; /* as last logged */
	bool is_listing;
	bool list_again; /* asked for while it was being read */
	uint64_t relist_at;
	char *cluster_path;
	char cluster[FOLLOW_CLUSTER_MAX + 1]; /* whose services these are, "" before it is known */
	bool is_foreign;                      /* the tree is another cluster's */
	bool is_held;        /* that, or not known yet since the connection: nothing is taken from it */
	uint64_t cluster_at; /* when to read it again, UINT64_MAX for not */
	bool has_login;
	bool is_denied; /* this mux may not read it, as last logged */
};

static void list(struct follow *follow);

static struct feed *find(const struct follow *follow, const char *name, size_t len)
{
	for (unsigned i = 0; i < follow->count; i++)
		if (!strncmp(feed_name(follow->feeds[i]), name, len) && !feed_name(follow->feeds[i])[len])
			return follow->feeds[i];
	return NULL;
}

static bool add(struct follow *follow, const char *name)
{
	struct feed **feeds = realloc(follow->feeds, (follow->count + 1) * sizeof(struct feed *));
	struct feed *feed = feed_new(&follow->context, name);

	if (feeds)
		follow->feeds = feeds;
	if (!feeds || !feed) {
		if (feed)
			feed_end(feed);
		return false;
	}
	feeds[follow->count++] = feed;
	feed_refresh(feed);
	return true;
}

/* A DNS label in lower case, as the controller's API asks for. */
static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= SERVICE_NAME_MAX && name[0] != '-' && name[len - 1] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static bool is_listed(const struct store_reply *reply, const char *name)
{
	for (int i = 0; i < reply->child_count; i++)
		if (!strcmp(reply->children[i], name))
			return true;
	return false;
}

/* What our node says has changed. */
static void note_change(struct follow *follow)
{
	uint32_t muxes = muxes_count(follow->muxes);
	uint64_t spread = muxes > 1 ? (uint64_t)(muxes - 1) * NODE_SPREAD_MS : 0;

	node_changed(follow->node, spread < NODE_SPREAD_MAX_MS ? (uint32_t)spread : NODE_SPREAD_MAX_MS);
}

/* First out of the list, since our node is written from it, then ended. */
static void end_unlisted(struct follow *follow, const struct store_reply *reply)
{
	unsigned count = follow->count, kept = 0;

	for (unsigned i = 0; i < count; i++) {
		struct feed *feed = follow->feeds[i];

		if (!is_listed(reply, feed_name(feed)))
			continue;
		follow->feeds[i] = follow->feeds[kept];
		follow->feeds[kept++] = feed;
	}
	follow->count = kept;
	for (unsigned i = kept; i < count; i++) {
		if (!feed_is_deleted(follow->feeds[i]))
			fprintf(stderr, "mux event=deleted service=%s\n", feed_name(follow->feeds[i]));
		feed_end(follow->feeds[i]);
	}
	if (kept != count)
		note_change(follow);
}

static void on_list_exists(void *context, const struct store_reply *reply)
{
	struct follow *follow = context;

	if (reply->rc == ZOK) /* it has come meanwhile; otherwise the watch tells when */
		list(follow);
	else if (reply->rc != ZNONODE)
		follow->relist_at = store_now(follow->store) + FOLLOW_RELIST_MS;
}

static void note_list(struct follow *follow, bool missing)
{
	if (missing != follow->list_missing)
		fprintf(stderr, "mux event=list_%s path=%s services=%u\n", missing ? "missing" : "found",
			follow->services, follow->count);
	follow->list_missing = missing;
}

/* A login that is missing, wrong, or not right any more; the tree is asked again, since it may become so. */
static void note_denied(struct follow *follow, const char *path, int rc)
{
	bool is_denied = rc == ZNOAUTH || rc == ZAUTHFAILED;

	if (is_denied == follow->is_denied || (!is_denied && rc != ZOK))
		return;
	if (is_denied)
		fprintf(stderr, "mux event=zookeeper_denied path=%s services=%u why=\"--zookeeper-auth is %s\"\n", path,
			follow->count, follow->has_login ? "wrong" : "missing");
	else
		fprintf(stderr, "mux event=zookeeper_allowed path=%s services=%u\n", path, follow->count);
	follow->is_denied = is_denied;
}

static void on_list(void *context, const struct store_reply *reply)
{
	struct follow *follow = context;

	follow->is_listing = false;
	note_denied(follow, follow->services, reply->rc);
	if (reply->rc == ZNONODE) {
		note_list(follow, true);
		store_exists(follow->store, follow->services, true, on_list_exists, follow);
		return;
	}
	if (follow->is_held) /* asked for before that was known */
		return;
	if (reply->rc != ZOK) {
		follow->relist_at = store_now(follow->store) + FOLLOW_RELIST_MS;
		return;
	}
	follow->has_list = true;
	note_list(follow, false);
	end_unlisted(follow, reply);
	for (unsigned i = 0; i < follow->count; i++)
		feed_confirm(follow->feeds[i]);
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (!is_name(name))
			fprintf(stderr, "mux event=ignored service=\"%.80s\" why=\"no name of a service\"\n", name);
		else if (!find(follow, name, strlen(name)) && !add(follow, name))
			follow->relist_at = store_now(follow->store) + FOLLOW_RELIST_MS; /* no memory now */
	}
	if (follow->list_again)
		list(follow);
}

static void list(struct follow *follow)
{
	follow->list_again = follow->is_listing;
	if (follow->is_listing)
		return;
	follow->is_listing = true;
	follow->relist_at = UINT64_MAX;
	store_children(follow->store, follow->services, true, on_list, follow);
}

static void refresh(struct follow *follow)
{
	list(follow);
	for (unsigned i = 0; i < follow->count; i++)
		feed_refresh(follow->feeds[i]);
}

/* What serves stays; the watch on the cluster's node tells when the tree is ours again. */
static void hold(struct follow *follow, const char *found)
{
	if (!follow->is_foreign)
		fprintf(stderr, "mux event=foreign_cluster expected=%s found=%s services=%u\n", follow->cluster, found,
			follow->count);
	follow->is_foreign = true;
	follow->is_held = true;
	follow->relist_at = UINT64_MAX;
}

static void release(struct follow *follow)
{
	if (follow->is_foreign)
		fprintf(stderr, "mux event=own_cluster cluster=%s services=%u\n", follow->cluster, follow->count);
	follow->is_foreign = false;
	follow->is_held = false;
	refresh(follow);
}

static void read_cluster(struct follow *follow);

static void on_cluster_exists(void *context, const struct store_reply *reply)
{
	struct follow *follow = context;

	if (reply->rc == ZOK) /* it has come meanwhile; otherwise the watch tells when */
		read_cluster(follow);
	else if (reply->rc != ZNONODE)
		follow->cluster_at = store_now(follow->store) + FOLLOW_RELIST_MS;
}

static void on_cluster(void *context, const struct store_reply *reply)
{
	struct follow *follow = context;
	const char *found = (const char *)reply->data;
	bool is_ours;

	note_denied(follow, follow->cluster_path, reply->rc);
	if (reply->rc == ZNONODE) {
		store_exists(follow->store, follow->cluster_path, true, on_cluster_exists, follow);
		if (follow->cluster[0] && follow->count)
			hold(follow, "none");
		else
			release(follow);
		return;
	}
	if (reply->rc != ZOK || !reply->len || reply->len > FOLLOW_CLUSTER_MAX) {
		follow->cluster_at = store_now(follow->store) + FOLLOW_RELIST_MS;
		return;
	}
	is_ours = !strcmp(follow->cluster, found);
	if (!is_ours && follow->cluster[0] && follow->count) {
		hold(follow, found);
		return;
	}
	if (!is_ours) /* nothing to lose: whatever cluster this is, it is followed */
		snprintf(follow->cluster, sizeof(follow->cluster), "%s", found);
	release(follow);
}

static void read_cluster(struct follow *follow)
{
	follow->cluster_at = UINT64_MAX;
	store_get(follow->store, follow->cluster_path, true, on_cluster, follow);
}

static void on_connected(void *context)
{
	struct follow *follow = context;

	fprintf(stderr, "mux event=zookeeper_connected session=0x%" PRIx64 "\n",
		(uint64_t)store_session(follow->store));
	node_connected(follow->node);
	muxes_connected(follow->muxes);
	follow->is_held = true;
	read_cluster(follow);
}

static void on_disconnected(void *context)
{
	const struct follow *follow = context;

	fprintf(stderr, "mux event=zookeeper_lost services=%u\n", follow->count);
}

static void on_changed(void *context, const char *path)
{
	struct follow *follow = context;
	size_t len = strlen(follow->services);
	const char *name, *end;
	struct feed *feed;

	node_watched(follow->node, path);
	muxes_watched(follow->muxes, path);
	if (!strcmp(path, follow->cluster_path))
		read_cluster(follow);
	if (follow->is_held || strncmp(path, follow->services, len))
		return;
	if (!path[len])
		list(follow);
	if (path[len] != '/')
		return;
	name = path + len + 1;
	end = strchrnul(name, '/');
	feed = *end ? find(follow, name, (size_t)(end - name)) : NULL;
	if (feed)
		feed_changed(feed, end + 1);
}

static void on_feed_changed(void *owner)
{
	note_change(owner);
}

static void on_vanished(void *owner)
{
	list(owner);
}

static char *render(void *context)
{
	const struct follow *follow = context;
	json_t *services = json_object();
	json_t *all = json_copy(follow->self);
	char *text = NULL;
	int failed = !services || !all;

	for (const struct feed *feed = follow_next(follow, NULL); feed && !failed; feed = follow_next(follow, feed)) {
		const char *withdrawn = serving_withdrawn(feed_served(feed));
		json_t *service = json_pack("{s:I, s:s}", "generation", (json_int_t)feed_generation(feed), "state",
					    feed_state_name(feed_state(feed)));

		failed = json_object_set_new(services, feed_name(feed), service) ||
			 (withdrawn && json_object_set_new(service, "withdrawn", json_string(withdrawn)));
	}
	if (!failed && !json_object_set(all, "services", services))
		text = json_dumps(all, JSON_COMPACT);
	json_decref(services);
	json_decref(all);
	return text;
}

static void describe_address(json_t *self, const char *key, const struct fl_address *address)
{
	char text[ADDRESS_TEXT_MAX];

	if (!fl_address_is_none(address))
		json_object_set_new(self, key, json_string(address_print(address, text)));
}

static json_t *describe(const struct follow_options *options)
{
	json_t *ports = json_array();
	json_t *self =
	    json_pack("{s:i, s:s, s:s}", "format", NODE_FORMAT, "id", options->id, "version", FAIRLEAD_VERSION);

	describe_address(self, "address", options->address);
	describe_address(self, "address6", options->address6);
	for (unsigned i = 0; i < options->ports_count; i++)
		json_array_append_new(ports, json_string(options->ports[i]));
	json_object_set_new(self, "ports", ports);
	return self;
}

struct follow *follow_new(const struct follow_options *options, struct why *why)
{
	static const struct store_events events = {on_connected, on_disconnected, on_changed};
	struct follow *follow = calloc(1, sizeof(*follow));
	char path[PATH_MAX_LEN];

	if (!follow)
		goto fail;
	follow->relist_at = UINT64_MAX;
	follow->cluster_at = UINT64_MAX;
	follow->self = describe(options);
	follow->root = strdup(options->root);
	snprintf(path, sizeof(path), "%s/services", options->root);
	follow->services = strdup(path);
	snprintf(path, sizeof(path), "%s/cluster", options->root);
	follow->cluster_path = strdup(path);
	if (!follow->self || !follow->root || !follow->services || !follow->cluster_path)
		goto fail;
	follow->has_login = options->login && options->login->count;
	follow->store = store_open(options->zookeeper, options->login, &events, follow);
	if (!follow->store) {
		why_refuse(why, -errno,
			   "--zookeeper: '%s' can't be used: %s; allowed: HOST:PORT, several separated by commas",
			   options->zookeeper, errno == EINVAL ? "no such host" : strerror(errno));
		goto fail;
	}
	snprintf(path, sizeof(path), "%s/muxes/%s", options->root, options->id);
	follow->node = node_new(follow->store, path, render, follow);
	snprintf(path, sizeof(path), "%s/muxes", options->root);
	follow->muxes = muxes_new(follow->store, path, options->tables);
	follow->behind = behind_new(follow->store, path, options->id, &options->behind);
	if (!follow->node || !follow->muxes || !follow->behind)
		goto fail;
	follow->context = (struct feed_context){
	    .store = follow->store,
	    .place = {.tables = options->tables,
		      .counters = options->counters,
		      .announcer = options->announcer,
		      .applied = options->applied},
	    .root = follow->root,
	    .owner = follow,
	    .changed = on_feed_changed,
	    .vanished = on_vanished,
	};
	return follow;
fail:
	if (!why->text[0])
		why_refuse(why, -ENOMEM, "no memory");
	if (follow)
		follow_free(follow);
	return NULL;
}

void follow_free(struct follow *follow)
{
	for (unsigned i = 0; i < follow->count; i++)
		feed_end(follow->feeds[i]);
	follow->count = 0;
	if (follow->store)
		store_close(follow->store);
	if (follow->node)
		node_free(follow->node);
	if (follow->muxes)
		muxes_free(follow->muxes);
	if (follow->behind)
		behind_free(follow->behind);
	json_decref(follow->self);
	free(follow->feeds);
	free(follow->services);
	free(follow->cluster_path);
	free(follow->root);
	free(follow);
}

int follow_fd(const struct follow *follow)
{
	return store_fd(follow->store);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t follow_deadline(const struct follow *follow)
{
	uint64_t at = store_deadline(follow->store);

	if (!store_is_connected(follow->store))
		return at; /* everything else waits for the connection */
	at = earlier(at, earlier(follow->cluster_at, node_deadline(follow->node)));
	if (follow->is_held)
		return at;
	at = earlier(at, follow->relist_at);
	for (unsigned i = 0; i < follow->count; i++)
		at = earlier(at, feed_deadline(follow->feeds[i]));
	return at;
}

void follow_run(struct follow *follow, uint64_t now_ms)
{
	store_run(follow->store, now_ms);
	if (!store_is_connected(follow->store))
		return;
	node_run(follow->node, now_ms);
	muxes_run(follow->muxes, now_ms);
	if (now_ms >= follow->cluster_at)
		read_cluster(follow);
	if (follow->is_held)
		return;
	if (now_ms >= follow->relist_at)
		list(follow);
	for (unsigned i = 0; i < follow->count; i++)
		if (now_ms >= feed_deadline(follow->feeds[i]))
			feed_refresh(follow->feeds[i]);
	if (behind_run(follow->behind, follow->feeds, follow->count, now_ms))
		note_change(follow);
}

void follow_announce(struct follow *follow)
{
	for (unsigned i = 0; i < follow->count; i++)
		serving_announce(feed_serving(follow->feeds[i]));
}

void follow_leave(struct follow *follow)
{
	follow->context.place.leaving = true;
	follow_announce(follow);
	note_change(follow);
}

uint64_t follow_lag_ms(const struct follow *follow, const struct feed *feed)
{
	return lag_ms(&feed_served(feed)->lag, store_now(follow->store));
}

bool follow_is_connected(const struct follow *follow)
{
	return store_is_connected(follow->store);
}

bool follow_is_foreign(const struct follow *follow)
{
	return follow->is_foreign;
}

bool follow_has_list(const struct follow *follow)
{
	return follow->has_list;
}

bool follow_is_registered(const struct follow *follow)
{
	return node_is_registered(follow->node);
}

const struct feed *follow_next(const struct follow *follow, const struct feed *after)
{
	unsigned i = 0;

	while (after && i < follow->count && follow->feeds[i] != after)
		i++;
	i += after ? 1 : 0;
	while (i < follow->count && feed_is_deleted(follow->feeds[i]))
		i++;
	return i < follow->count ? follow->feeds[i] : NULL;
}
