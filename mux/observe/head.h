/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request's head must be like, beyond what libmicrohttpd asks for: a server that reads it in another way than a
 * proxy before it can be given a request that the proxy did not see. So it is HTTP/1.1 and plain, or refused.
 *
 * libmicrohttpd 0.9.75 does not show all: a line that ends in a bare LF, an empty one before the request, a second space
 * before the target, what follows a NUL, a header without a name. Such a head is answered, but nothing after it is ever
 * read (listener.h).
 */
#ifndef FAIRLEAD_MUX_HEAD_H
#define FAIRLEAD_MUX_HEAD_H

#include <microhttpd.h>

enum head_fault {
	HEAD_OK = 0,
	HEAD_VERSION,
	HEAD_METHOD,
	HEAD_TARGET,
	HEAD_NAME,
	HEAD_VALUE,
	HEAD_HOST,
	HEAD_TWICE,
	HEAD_BODY, /* it announces one, or asks whether to send it */
};

/* The target as it was sent. HEAD_OK or HEAD_TARGET. */
enum head_fault head_check_target(const char *target);

/* All but the target. */
enum head_fault head_check(struct MHD_Connection *connection, const char *method, const char *version);

/* The words of a refusal. */
const char *head_fault_field(enum head_fault fault);
const char *head_fault_allowed(enum head_fault fault);

#endif
