/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's configuration: from a JSON file, from flags, or from both; a flag wins over the file. Its fields are a table
 * in config.c; docs/servers.md says what each means. An address, peers, and keys or `untagged` must be given.
 *
 * Any peer may send packets, muxes tell generations, and packets are sent on to servers alone. The longest prefix that an
 * address has says what it is; what is given twice is both. There is no default: senders decide where connections go.
 * 0.0.0.0/0 trusts every sender, explicitly.
 */
#ifndef FAIRLEAD_CONFIG_H
#define FAIRLEAD_CONFIG_H

#include "keys.h"

enum {
	CONFIG_PEERS = 4, /* beside enum fl_peer_roles */
};

struct config {
	struct fl_server_config program;
	struct fl_peer peers[FL_SERVER_PEERS_MAX];
	fl_u8 given[FL_SERVER_PEERS_MAX]; /* as which: FL_PEER_MUX, FL_PEER_SERVER, CONFIG_PEERS */
	unsigned int peer_count;
	fl_u8 untagged;
	struct keys_file *key_file; /* NULL: none was given */
	struct fl_server_keys keys; /* of config_check(), if program.tagged */
};

extern const struct config config_default;

/*
 * Sets the field that has a flag of this name; prefixes, which commas separate, replace those that the same flag gave. Both
 * return 0, or print a sentence with field, value and what is allowed, and return -EINVAL.
 */
int config_set(struct config *config, const char *flag, const char *text);
int config_read_file(struct config *config, const char *path);

/* Checks across fields: address, peers and trust are given, and no field excludes another. Makes the keys. */
int config_check(struct config *config);

/* Frees the keys. */
void config_close(struct config *config);

/* Writes our own addresses in the form that --address accepts; text has TEXT_LEN bytes and is returned. */
const char *config_self_text(const struct fl_server_config *program, char *text);

/* Reads this host's addresses, one or one of each family, absent ones as none. 0, or -EINVAL after printing a sentence. */
int config_selves_set(const char *field, const char *text, struct fl_address *ipv4, struct fl_address *ipv6);
extern const char config_selves_allowed[];

#endif
