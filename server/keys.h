/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of keys (fairlead/list_tag.h, fairlead/notice.h). Either one with the cluster's keys:
 *
 *	HEX				or		current HEX
 *							next HEX
 *
 * or one with the keys of a server, which `fairlead-server keys` makes of it: for each address of the server and each
 * service the keys by the header's KEY, not set and set. Who has one key of the cluster has it twice.
 *
 *	notice ADDRESS HEX HEX
 *	service ID HEX HEX
 *
 * A key is 32 hex digits, byte 0 first. Lines are in any order, and none says the same as another.
 */
#ifndef FAIRLEAD_SERVER_KEYS_H
#define FAIRLEAD_SERVER_KEYS_H

#include <stdio.h>

#include "server.h"

enum keys_numbers {
	KEYS_FILE_MAX = 8 << 20, /* bytes: more than the keys of all services take */
	KEYS_NOTICES_MAX = 16,
};

struct keys_file {
	bool is_cluster;
	struct fl_key_pair cluster;
	struct keys_notice {
		struct fl_address address;
		struct fl_key_pair keys;
	} notices[KEYS_NOTICES_MAX];
	unsigned int notice_count;
	struct fl_service_keys *services; /* in their order */
	unsigned int service_count;
};

/* What a file with a secret may be like. */
struct keys_secret {
	unsigned int mode; /* at most */
	long max;          /* bytes */
	const char *allowed;
};

/* All of such a file, with a 0 behind it; to be wiped and freed. NULL: refused, a sentence has been printed. */
char *keys_secret_read(const char *field, const char *path, const struct keys_secret *secret, size_t *len);

/* Free with keys_file_close(). Both return 0, or -EINVAL after printing a sentence with the field and the file's name. */
int keys_file_read(struct keys_file *file, const char *field, const char *path);
void keys_file_close(struct keys_file *file);

/*
 * The keys of a server with these addresses, none of which the file may lack. keys->services is the caller's to free. With
 * the cluster's key there are those of all services.
 */
int keys_make(const struct keys_file *file, const char *field, const struct fl_address self[2],
	      struct fl_server_keys *keys);

/* Writes the file of a server. False: it cannot be written. */
bool keys_write(FILE *out, const struct fl_key_pair *cluster, const struct fl_address *addresses, unsigned int count,
		const fl_u16 *services, unsigned int service_count);

#endif
