/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which muxes live, by their ephemeral nodes (protocol/README.md section 4): the peers of fragments.h. While ZooKeeper
 * can't be reached the last ones known stay.
 */
#ifndef MUX_MUXES_H
#define MUX_MUXES_H

#include "control/store.h"
#include "service/tables.h"

enum muxes_numbers { MUXES_RETRY_MS = 1000 };

struct muxes;

/* path: the folder of the nodes. NULL: no memory. */
struct muxes *muxes_new(struct store *store, const char *path, struct tables *tables);
/* No request may be under way: after store_close(). */
void muxes_free(struct muxes *muxes);

/* The session is there, perhaps a new one. */
void muxes_connected(struct muxes *muxes);
/* A watch on path fired; other paths than the folder's are not for it. */
void muxes_watched(struct muxes *muxes, const char *path);

/* How many there are, ourselves included; 0 before that is known. */
uint32_t muxes_count(const struct muxes *muxes);

uint64_t muxes_deadline(const struct muxes *muxes);
void muxes_run(struct muxes *muxes, uint64_t now_ms);

#endif
