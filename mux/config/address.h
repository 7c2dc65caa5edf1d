/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text. */
#ifndef FAIRLEAD_MUX_ADDRESS_H
#define FAIRLEAD_MUX_ADDRESS_H

#include <fairlead/types.h>

enum { ADDRESS_TEXT_MAX = 46 };

/* Writes the address, IPv4 in dotted decimal; returns text. */
const char *address_print(const struct fl_address *address, char text[ADDRESS_TEXT_MAX]);

/* False if text is neither an IPv4 nor an IPv6 address. */
bool address_parse(const char *text, struct fl_address *out);

#endif
