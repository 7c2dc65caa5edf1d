/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a mux's state. A file is replaced by a new one that was written beside it: write, fsync, rename, fsync
 * of the folder. So after a crash at any point a name has the old content or the new one. The folder is locked: of two
 * muxes that were given the same one, the second gets none.
 */
#ifndef FAIRLEAD_MUX_STATE_FOLDER_H
#define FAIRLEAD_MUX_STATE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/reason.h"
#include "config/service_config.h"

enum state_folder_limits { STATE_NAME_MAX = 127 };

struct state_folder;

/* NULL, errno and why: it does not exist, can't be written, or another mux has it. */
struct state_folder *state_folder_open(const char *path, struct reason *why);
void state_folder_close(struct state_folder *folder);

/* Calls fn with the name of each file except the lock and unfinished ones, in no order. Negative errno. */
int state_folder_list(const struct state_folder *folder, void (*fn)(void *context, const char *name), void *context);

/* Whether there is a file of this name and length. */
bool state_folder_has(const struct state_folder *folder, const char *name, uint64_t len);

/* Reads a whole file of at most max bytes into malloc'ed memory. Negative errno: -EFBIG, or the system's. */
int state_folder_read(const struct state_folder *folder, const char *name, size_t max, uint8_t **data, size_t *len);

/* A file's replacement while it is written. All zero before state_writing_begin() and after the end. */
struct state_writing {
	const struct state_folder *folder;
	char name[STATE_NAME_MAX + 1]; /* of the unfinished file, without its end */
	FILE *file;                    /* NULL: it is not open */
};

/* All return 0 or a negative errno. Each begin is followed by one commit or abandon. No two have one name. */
int state_writing_begin(struct state_writing *writing, const struct state_folder *folder, const char *name);
int state_writing_append(struct state_writing *writing, const void *bytes, size_t len);
/* Writes over the first bytes. */
int state_writing_head(struct state_writing *writing, const void *bytes, size_t len);
/* name: what the file is called from now on, often that of the beginning. After an error it has its old content. */
int state_writing_commit(struct state_writing *writing, const char *name);
void state_writing_abandon(struct state_writing *writing);

/* 0 if the name does not exist afterwards. */
int state_folder_remove(const struct state_folder *folder, const char *name);

/* The names of a service's files (state_file.h). Services' names have no dots. */

/* NAME.service */
void state_name_of_ring(const char *service, char out[STATE_NAME_MAX + 1]);
/* NAME.GENERATION-CHECKSUM.arrays */
void state_name_of_arrays(const char *service, uint32_t generation, uint32_t checksum, char out[STATE_NAME_MAX + 1]);
/* NAME.arrays: arrays whose checksum is not known yet. */
void state_name_of_unfinished_arrays(const char *service, char out[STATE_NAME_MAX + 1]);

/* The service that a file belongs to. False: it is not one with its ring, or with arrays. */
bool state_name_is_ring(const char *name, char service[SERVICE_NAME_MAX + 1]);
bool state_name_is_arrays(const char *name, char service[SERVICE_NAME_MAX + 1]);

#endif
