/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the muxes that are added are alive, by their ephemeral nodes (protocol/README.md section 4): the peers of
 * fragments.h and of hello_peers.h. Only what has changed is read again. While ZooKeeper can't be reached, the last known
 * set stays.
 */
#ifndef MUX_PEER_WATCH_H
#define MUX_PEER_WATCH_H

#include "control/zookeeper.h"
#include "hello/hello.h"
#include "service/tables.h"

enum peer_watch_numbers { PEER_WATCH_RETRY_MS = 1000 };

struct peer_watch;

/* path: the folder of the entries; hello NULL: no hellos. Returns NULL: no memory. */
struct peer_watch *peer_watch_new(struct zk_client *zk, const char *path, struct tables *tables, struct hello *hello);
/* No request may be under way: after zk_close(). */
void peer_watch_free(struct peer_watch *watch);

/* There is a session, perhaps a new one. */
void peer_watch_connected(struct peer_watch *watch);
/* The tree may be another cluster's: the last set stays, whatever the tree has, until it is released. */
void peer_watch_hold(struct peer_watch *watch);
void peer_watch_release(struct peer_watch *watch);
/* A watch on path fired; other paths than the folder's and those of entries are ignored. */
void peer_watch_watched(struct peer_watch *watch, const char *path);

/* The number of live muxes, including this one; 0: not known yet. */
uint32_t peer_watch_count(const struct peer_watch *watch);
/* The addresses of the live muxes as the tables have them. */
const struct fl_address *peer_watch_addresses(const struct peer_watch *watch, uint32_t *count);
/* Sets them to what was known before this process started, until the nodes are read. */
void peer_watch_restore(struct peer_watch *watch, const struct fl_address *addresses, uint32_t count);

uint64_t peer_watch_deadline(const struct peer_watch *watch);
void peer_watch_run(struct peer_watch *watch, uint64_t now_ms);

#endif
