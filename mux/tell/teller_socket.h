/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends notices and receives acknowledgements through the kernel: a UDP socket of each family, bound to the
 * mux's outer address. No worker is involved. A socket is opened with the first notice and, if that fails, tried again
 * with each.
 */
#ifndef FAIRLEAD_MUX_TELL_TELLER_SOCKET_H
#define FAIRLEAD_MUX_TELL_TELLER_SOCKET_H

#include <fairlead/types.h>

enum { TELLER_SOCKET_BATCH = 1024, TELLER_SOCKET_FAMILIES = 2 };

struct teller;

struct teller_socket {
	struct fl_address source[TELLER_SOCKET_FAMILIES]; /* IPv4, IPv6 */
	int fd[TELLER_SOCKET_FAMILIES];                   /* -1: not open */
	int epoll;                                        /* of those that are: readable if something came in */
};

/* The outer addresses; fl_address_is_none: it has none of the family. NULL, with errno. */
struct teller_socket *teller_socket_new(const struct fl_address *address, const struct fl_address *address6);
/* NULL is allowed. */
void teller_socket_free(struct teller_socket *sockets);

/* Sends len bytes to a server's port for GUE. Negative errno; -EAGAIN: the socket is full, try again later. */
int teller_socket_send(void *sockets, const struct fl_address *to, const uint8_t *bytes, uint32_t len);

/* Hands over what came in, at most TELLER_SOCKET_BATCH packets of each family. */
void teller_socket_receive(struct teller_socket *sockets, struct teller *teller);

#endif
