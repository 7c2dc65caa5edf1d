/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's configuration: from a JSON file, from flags, or from both; a flag wins over the file.
 *
 *	key            flag           default
 *	address        --address      none: must be given  outer destination of our packets: one address, or one of
 *	                                                   each family, separated by a comma
 *	port           --port         6080                 UDP port of GUE
 *	windowSeconds  --window       240                  how long a bucket is chained after it moved
 *	peers          --peers        none: must be given  prefixes of the muxes and servers that may send
 *	tagKeyFile     --tag-key      none: tags ignored   file with the cluster's key, 32 hex digits, mode 0600
 *	chaining       --no-chaining  true                 off only to show what happens without it
 *	ipipService    --ipip-service none                 packets in the paper's IPIP format are received as well, for this
 *	                                                   service; module only
 *	mangle         --mangle       false                inner destinations become the server's own address, replies
 *	                                                   the VIP's; module only
 *	quietSeconds   --quiet        70                   for how long after `attach` packets with a list of servers that no
 *	                                                   server knows are dropped and not reset
 *	               --clock-error  0                    seconds by which the clock is ahead, for fault injection; XDP
 *	                                                   program only
 *
 * There is no default for peers: senders decide where connections go. 0.0.0.0/0 trusts every sender, explicitly.
 */
#ifndef FAIRLEAD_CONFIG_H
#define FAIRLEAD_CONFIG_H

#include "server.h"

struct config {
	struct fl_server_config program;
	struct fl_peer_key peers[FL_SERVER_PEERS_MAX];
	unsigned int peer_count;
	fl_u32 quiet; /* seconds */
};

extern const struct config config_default;

/*
 * Each reads one value and returns 0, or prints a sentence with field, value and what is allowed, and returns -EINVAL.
 * field names the source: a flag, or a key and its file.
 */
int config_set_address(struct config *config, const char *field, const char *text);
int config_set_port(struct config *config, const char *field, const char *text);
int config_set_window(struct config *config, const char *field, const char *text);
int config_set_tag_key(struct config *config, const char *field, const char *path);
int config_set_ipip_service(struct config *config, const char *field, const char *text);
int config_set_quiet(struct config *config, const char *field, const char *text);
int config_set_clock_error(struct config *config, const char *field, const char *text);
int config_set_peers(struct config *config, const char *field, const char *list); /* comma-separated; replaces */

int config_read_file(struct config *config, const char *path);

/* Checks across fields: address and peers are given, and no field excludes another. */
int config_check(const struct config *config);

/* Writes our own addresses in the form that --address accepts; text has CONFIG_TEXT_LEN bytes and is returned. */
const char *config_self_text(const struct fl_server_config *program, char *text);

/* Parses a decimal number without sign or blanks; false if text is none, or the number is not in min..max. */
bool config_number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *value);

/* Writes an address (IPv4 dotted) into text, which has CONFIG_TEXT_LEN bytes; returns text. */
enum config_numbers {
	CONFIG_TEXT_LEN = 96,
};
const char *config_address_text(const struct fl_address *address, char *text);
const char *config_peer_text(const struct fl_peer_key *peer, char *text);

#endif
