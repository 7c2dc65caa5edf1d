/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of services in ZooKeeper, and the synchronisation of each one on it (service_sync.h).
 *
 * A service is removed when its name leaves the list. If the list itself is missing, nothing is removed: an empty
 * ZooKeeper is more likely an accident than intended. While the list is held, the tree may be another cluster's:
 * nothing is read, and what is served stays.
 */
#ifndef FAIRLEAD_MUX_SERVICE_LIST_H
#define FAIRLEAD_MUX_SERVICE_LIST_H

#include "control/service/service_sync.h"
#include "tree/watched_node.h"

struct service_list {
	struct watched_node node;
	const struct service_sync_context *context;
	struct tree_access *access;
	struct service_sync **syncs; /* including deleted services whose name is still listed */
	unsigned count;
	bool is_known;   /* it has been read at all */
	bool is_missing; /* as last logged */
};

/* Of context's tree; context and access must outlive it. Begins without services, and held. */
struct service_list *service_list_new(const struct service_sync_context *context, struct tree_access *access);
/* Ends all services; before tree_close(), which answers what was requested. */
void service_list_clear(struct service_list *list);
/* No request may be under way: after tree_close(). NULL is allowed. */
void service_list_free(struct service_list *list);

/* Ends a hold; reads everything again. */
void service_list_release(struct service_list *list);

/* A watch on path fired; paths of other nodes are ignored. */
void service_list_watched(struct service_list *list, const char *path);
uint64_t service_list_deadline(const struct service_list *list);
void service_list_run(struct service_list *list, uint64_t now_ms);

/* Iterates over the services that are not deleted, in no particular order: starts and ends with NULL. */
const struct service_sync *service_list_next(const struct service_list *list, const struct service_sync *after);

/* A service, before the list was read; it has read nothing yet. */
struct service_sync *service_list_append(struct service_list *list, const char *name);
/* Ends the last one again. */
void service_list_take_back(struct service_list *list);

#endif
