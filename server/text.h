/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, addresses and prefixes as text, as people write and read them. */
#ifndef FAIRLEAD_SERVER_TEXT_H
#define FAIRLEAD_SERVER_TEXT_H

#include "server.h"

enum text_numbers {
	TEXT_LEN = 96,         /* of what is printed here, at most */
	TEXT_IPV4_PREFIX = 96, /* bits of ::ffff:0:0 in front of an IPv4 address */
};

/* Parses a decimal number without sign or blanks; false if text is none, or the number is not in min..max. */
bool text_number_parse(const char *text, unsigned long min, unsigned long max, unsigned long *value);

/* Parses an address of either family. */
bool text_address_parse(const char *text, struct fl_address *address);

/* Both write into text, which has TEXT_LEN bytes, and return it; an IPv4 address dotted. */
const char *text_address_print(const struct fl_address *address, char *text);
const char *text_peer_print(const struct fl_peer_key *peer, char *text);

#endif
