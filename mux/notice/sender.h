/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends notices to servers through the kernel: a UDP socket of each family, bound to the mux's outer address. No worker
 * is involved. A socket is opened with the first notice and, if that fails, tried again with each.
 */
#ifndef FAIRLEAD_MUX_NOTICE_SENDER_H
#define FAIRLEAD_MUX_NOTICE_SENDER_H

#include <fairlead/types.h>

/* Why a notice was not sent, in the words of metrics. */
enum notice_error {
	NOTICE_NO_SOURCE, /* the mux has no address of the family, or the kernel does not have the mux's address */
	NOTICE_NO_ROUTE,
	NOTICE_DENIED, /* by the host's firewall */
	NOTICE_TOO_BIG,
	NOTICE_NO_MEMORY, /* in the kernel, or for the list of what is to be sent */
	NOTICE_OTHER,
	NOTICE_ERRORS,
};

const char *notice_error_name(enum notice_error error);
/* Of a negative errno. */
enum notice_error notice_error_of(int error);

struct notice_sender;

/* The outer addresses; fl_address_is_none: it has none of the family. NULL: no memory. */
struct notice_sender *notice_sender_new(const struct fl_address *address, const struct fl_address *address6);
void notice_sender_free(struct notice_sender *sender);

/* Sends len bytes to a server's port for GUE. Negative errno; -EAGAIN: the socket is full, try again later. */
int notice_sender_send(void *sender, const struct fl_address *to, const uint8_t *bytes, uint32_t len);

#endif
