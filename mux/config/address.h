/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, and as the kernel's sockets have them. */
#ifndef FAIRLEAD_MUX_ADDRESS_H
#define FAIRLEAD_MUX_ADDRESS_H

#include <sys/socket.h>

#include <fairlead/types.h>

enum { ADDRESS_TEXT_MAX = 46 };

/* Writes the address, IPv4 in dotted decimal; returns text. */
const char *address_print(const struct fl_address *address, char text[ADDRESS_TEXT_MAX]);

/* False if text is neither an IPv4 nor an IPv6 address. */
bool address_parse(const char *text, struct fl_address *out);

/* Of 127.0.0.0/8, or ::1. */
bool address_is_loopback(const struct fl_address *address);

/* Fills in a socket's address of either family; returns its length. */
socklen_t address_to_socket(const struct fl_address *address, uint16_t port, struct sockaddr_storage *out);

/* The other way; all zero if it is of another family. */
struct fl_address address_of_socket(const struct sockaddr *socket);

#endif
