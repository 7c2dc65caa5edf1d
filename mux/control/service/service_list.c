/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service/service_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/service_config.h"

static struct service_sync *find(const struct service_list *list, const char *name, size_t len)
{
	for (unsigned i = 0; i < list->count; i++)
		if (!strncmp(list->syncs[i]->name, name, len) && !list->syncs[i]->name[len])
			return list->syncs[i];
	return NULL;
}

struct service_sync *service_list_append(struct service_list *list, const char *name)
{
	struct service_sync **syncs = tree_alloc((list->count + 1) * sizeof(struct service_sync *));

	if (list->count)
		memcpy(syncs, list->syncs, list->count * sizeof(struct service_sync *));
	free(list->syncs);
	list->syncs = syncs;
	syncs[list->count] = service_sync_new(list->context, name);
	syncs[list->count]->place = list->count;
	return syncs[list->count++];
}

/* Services leave the list before they end, because our node is written from the list. */
static void end_unlisted(struct service_list *list, const struct tree_reply *reply)
{
	unsigned count = list->count, kept = 0;

	for (unsigned i = 0; i < count; i++) {
		struct service_sync *sync = list->syncs[i];

		if (!tree_has_child(reply, sync->name))
			continue;
		list->syncs[i] = list->syncs[kept];
		sync->place = kept;
		list->syncs[kept++] = sync;
	}
	list->count = kept;
	for (unsigned i = kept; i < count; i++) {
		if (!list->syncs[i]->is_deleted)
			fprintf(stderr, "mux event=deleted service=%s\n", list->syncs[i]->name);
		service_sync_end(list->syncs[i]);
	}
	if (kept != count)
		list->context->changed(list->context->owner);
}

static void note(struct service_list *list, bool is_missing)
{
	if (is_missing != list->is_missing)
		fprintf(stderr, "mux event=list_%s path=%s services=%u\n", is_missing ? "missing" : "found",
			list->node.path, list->count);
	list->is_missing = is_missing;
}

static void on_list(void *context, const struct tree_reply *reply)
{
	struct service_list *list = context;

	tree_access_note(list->access, list->node.path, reply->result, list->count);
	if (reply->result == TREE_MISSING)
		note(list, true);
	if (reply->result != TREE_OK || list->node.is_held)
		return;
	list->is_known = true;
	note(list, false);
	end_unlisted(list, reply);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_confirm(list->syncs[i]);
	for (int i = 0; i < reply->child_count; i++) {
		const char *name = reply->children[i];

		if (!service_config_is_name(name))
			fprintf(stderr, "mux event=ignored service=\"%.80s\" why=\"not a service name\"\n", name);
		else if (!find(list, name, strlen(name)))
			service_sync_refresh(service_list_append(list, name));
	}
}

void service_list_release(struct service_list *list)
{
	watched_node_release(&list->node);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_refresh(list->syncs[i]);
}

void service_list_watched(struct service_list *list, const char *path)
{
	size_t len = strlen(list->node.path);
	const char *name, *end;
	struct service_sync *sync;

	watched_node_fired(&list->node, path);
	if (list->node.is_held || strncmp(path, list->node.path, len) != 0 || path[len] != '/')
		return;
	name = path + len + 1;
	end = strchrnul(name, '/');
	sync = *end ? find(list, name, (size_t)(end - name)) : NULL;
	if (sync)
		service_sync_changed(sync, end + 1);
}

uint64_t service_list_deadline(const struct service_list *list)
{
	uint64_t at = list->node.retry_at;

	if (list->node.is_held)
		return UINT64_MAX;
	for (unsigned i = 0; i < list->count; i++)
		if (service_sync_deadline(list->syncs[i]) < at)
			at = service_sync_deadline(list->syncs[i]);
	return at;
}

void service_list_run(struct service_list *list, uint64_t now_ms)
{
	if (list->node.is_held)
		return;
	watched_node_run(&list->node, now_ms);
	for (unsigned i = 0; i < list->count; i++)
		service_sync_run(list->syncs[i], now_ms);
}

void service_list_take_back(struct service_list *list)
{
	service_sync_end(list->syncs[--list->count]);
}

struct service_list *service_list_new(const struct service_sync_context *context, struct tree_access *access)
{
	struct service_list *list = tree_alloc(sizeof(*list));

	watched_node_begin(&list->node, context->tree, tree_path(context->root, "services"), on_list, list);
	list->node.is_list = true;
	list->node.is_held = true;
	list->context = context;
	list->access = access;
	return list;
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
	free(list->node.path);
	free(list);
}

const struct service_sync *service_list_next(const struct service_list *list, const struct service_sync *after)
{
	struct service_sync *const *syncs = list->syncs;
	unsigned i = after ? after->place + 1 : 0, count = list->count;

	while (i < count && syncs[i]->is_deleted)
		i++;
	return i < count ? syncs[i] : NULL;
}
