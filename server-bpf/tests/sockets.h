/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the tests, by struct fl_address. Each function ends the program with a sentence if it fails; what it returns
 * stays open until the program ends, unless the caller closes it.
 */
#ifndef FAIRLEAD_TESTS_SOCKETS_H
#define FAIRLEAD_TESTS_SOCKETS_H

#include <sys/socket.h>

#include <fairlead/types.h>

/* Writes the address to *storage; returns its length. */
socklen_t sockets_name(const struct fl_address *address, fl_u16 port, struct sockaddr_storage *storage);

int sockets_bind(int type, int protocol, const struct fl_address *address, fl_u16 port);
int sockets_listen(int protocol, const struct fl_address *address, fl_u16 port);
void sockets_connect(int fd, const struct fl_address *address, fl_u16 port);
/* The socket's own port. */
fl_u16 sockets_port(int fd);

/* A packet socket that sees every frame of the interface. */
int sockets_sniff(const char *interface);

#endif
