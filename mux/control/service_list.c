/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/service_config.h"

struct service_list {
	const struct service_sync_context *context;
	struct tree_access *access;
	char *path;
	struct service_sync **syncs;
	unsigned count;
	bool is_held;
	bool is_known;
	bool is_missing; /* as last logged */
	bool is_reading;
	bool again; /* requested while it was being read */
	uint64_t retry_at;
};

static struct service_sync *find(const struct service_list *list, const char *name, size_t len)
{
	for (unsigned i = 0; i < list->count; i++)
		if (!strncmp(service_sync_name(list->syncs[i]), name, len) && !service_sync_name(list->syncs[i])[len])
			return list->syncs[i];
	return NULL;
}

struct service_sync *service_list_append(struct service_list *list, const char *name)
{
	struct service_sync **syncs = realloc(list->syncs, (list->count + 1) * sizeof(struct service_sync *));
	struct service_sync *sync = service_sync_new(list->context, name);

	if (syncs)
		list->syncs = syncs;
	if (!syncs || !sync) {
		if (sync)
			service_sync_end(sync);
		return NULL;
	}
	syncs[list->count++] = sync;
	return sync;
}

static bool add(struct service_list *list, const char *name)
{
	struct service_sync *sync = service_list_append(list, name);

	if (sync)
		service_sync_refresh(sync);
	return sync;
}

/* Services leave the list before they end, because our node is written from the list. */
static void end_unlisted(struct service_list *list, const struct zk_reply *reply)
{
	unsigned count = list->count, kept = 0;

	for (unsigned i = 0; i < count; i++) {
		struct service_sync *sync = list->syncs[i];

		if (!zk_has_child(reply, service_sync_name(sync)))
			continue;
		list->syncs[i] = list->syncs[kept];
		list->syncs[kept++] = sync;
	}
	list->count = kept;
	for (unsigned i = kept; i < count; i++) {
		if (!service_sync_is_deleted(list->syncs[i]))
			fprintf(stderr, "mux event=deleted service=%s\n", service_sync_name(list->syncs[i]));
		service_sync_end(list->syncs[i]);
	}
	if (kept != count)
		list->context->changed(list->context->owner);
}

static void retry(struct service_list *list)
{
	list->retry_at = zk_now(list->context->zk) + SERVICE_LIST_RETRY_MS;
}

static void on_exists(void *context, const struct zk_reply *reply)
{
	struct service_list *list = context;

	if (reply->rc == ZOK) /* created meanwhile; otherwise the watch reports it */
		service_list_read(list);
	else if (reply->rc != ZNONODE)
		retry(list);
}

static void note(struct service_list *list, bool is_missing)
{
	if (is_missing != list->is_missing)
		fprintf(stderr, "mux event=list_%s path=%s services=%u\n", is_missing ? "missing" : "found", list->path,
			list->count);
	list->is_missing = is_missing;
}

static void on_list(void *context, const struct zk_reply *reply)
{
	struct service_list *list = context;

	list->is_reading = false;
	tree_access_note(list->access, list->path, reply->rc, list->count);
	if (reply->rc == ZNONODE) {
		note(list, true);
		zk_exists(list->context->zk, list->path, true, on_exists, list);
		return;
	}
	if (list->is_held) /* requested before the hold */
		return;
	if (reply->rc != ZOK) {
		retry(list);
		return;
	}
	list->is_known = true;
	note(list, false);
	end_unlisted(list, reply);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_confirm(list->syncs[i]);
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (!service_config_is_name(name))
			fprintf(stderr, "mux event=ignored service=\"%.80s\" why=\"not a service name\"\n", name);
		else if (!find(list, name, strlen(name)) && !add(list, name))
			retry(list); /* no memory now */
	}
	if (list->again)
		service_list_read(list);
}

void service_list_read(struct service_list *list)
{
	list->again = list->is_reading;
	if (list->is_reading)
		return;
	list->is_reading = true;
	list->retry_at = UINT64_MAX;
	zk_children(list->context->zk, list->path, true, on_list, list);
}

void service_list_hold(struct service_list *list)
{
	list->is_held = true;
	list->retry_at = UINT64_MAX;
}

void service_list_release(struct service_list *list)
{
	list->is_held = false;
	service_list_read(list);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_refresh(list->syncs[i]);
}

bool service_list_is_held(const struct service_list *list)
{
	return list->is_held;
}

void service_list_watched(struct service_list *list, const char *path)
{
	size_t len = strlen(list->path);
	const char *name, *end;
	struct service_sync *sync;

	if (list->is_held || strncmp(path, list->path, len))
		return;
	if (!path[len])
		service_list_read(list);
	if (path[len] != '/')
		return;
	name = path + len + 1;
	end = strchrnul(name, '/');
	sync = *end ? find(list, name, (size_t)(end - name)) : NULL;
	if (sync)
		service_sync_changed(sync, end + 1);
}

uint64_t service_list_deadline(const struct service_list *list)
{
	uint64_t at = list->retry_at;

	if (list->is_held)
		return UINT64_MAX;
	for (unsigned i = 0; i < list->count; i++)
		if (service_sync_deadline(list->syncs[i]) < at)
			at = service_sync_deadline(list->syncs[i]);
	return at;
}

void service_list_run(struct service_list *list, uint64_t now_ms)
{
	if (list->is_held)
		return;
	if (now_ms >= list->retry_at)
		service_list_read(list);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_run(list->syncs[i], now_ms);
}

void service_list_take_back(struct service_list *list)
{
	service_sync_end(list->syncs[--list->count]);
}

bool service_list_is_known(const struct service_list *list)
{
	return list->is_known;
}

struct service_sync *const *service_list_syncs(const struct service_list *list)
{
	return list->syncs;
}

unsigned service_list_count(const struct service_list *list)
{
	return list->count;
}

struct service_list *service_list_new(const struct service_sync_context *context, const char *root,
				      struct tree_access *access)
{
	struct service_list *list = calloc(1, sizeof(*list));

	if (!list)
		return NULL;
	list->context = context;
	list->access = access;
	list->is_held = true;
	list->retry_at = UINT64_MAX;
	if (asprintf(&list->path, "%s/services", root) >= 0)
		return list;
	free(list);
	return NULL;
}

void service_list_clear(struct service_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		service_sync_end(list->syncs[i]);
	list->count = 0;
}

void service_list_free(struct service_list *list)
{
	if (!list)
		return;
	free(list->syncs);
	free(list->path);
	free(list);
}
