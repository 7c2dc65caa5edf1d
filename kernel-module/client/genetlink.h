/* SPDX-License-Identifier: Apache-2.0 */
/* A generic netlink family of this network namespace: its commands, one at a time, and what the kernel answers. */
#ifndef FAIRLEAD_GENETLINK_H
#define FAIRLEAD_GENETLINK_H

#include <libmnl/libmnl.h>

#include <fairlead/types.h>

struct genetlink {
	struct mnl_socket *socket;
	fl_u16 family;  /* 0: it is not open */
	fl_u32 version; /* the family's */
	fl_u32 sequence;
	char *buffer; /* of a message, either way */
	char error[160];
};

/* Where an attribute is read into, as many bytes as there is room for; the last of a list has no size. */
struct genetlink_field {
	fl_u16 type;
	size_t at, size;
};

#define GENETLINK_FIELD(type, of, member)                                                                              \
	{                                                                                                              \
		type, offsetof(of, member), sizeof(((of *)0)->member)                                                  \
	}

/*
 * All that return a number return 0, or a negative errno and a sentence in link->error: the kernel's own where it gives
 * one. -ENOENT: there is no such family. Close it in every case.
 */
int genetlink_open(struct genetlink *link, const char *family);
void genetlink_close(struct genetlink *link);

/* Makes room for a message of so many bytes. */
int genetlink_reserve(struct genetlink *link, size_t size);

/* Begins a message, to which attributes are added. */
struct nlmsghdr *genetlink_begin(struct genetlink *link, fl_u8 command, fl_u16 flags);

/* Sends it, and gives each message of the answer to take(), up to the ACK, the error, or the end of the dump. */
int genetlink_ask(struct genetlink *link, mnl_cb_t take, void *state);

/* The same, with the attributes of the answer read into *out. */
int genetlink_get(struct genetlink *link, const struct genetlink_field *fields, void *out);

/* Reads the attributes of a message, or those nested in one. */
void genetlink_read(const struct nlmsghdr *message, const struct genetlink_field *fields, void *out);
void genetlink_read_nested(const struct nlattr *nest, const struct genetlink_field *fields, void *out);

/* Writes the sentence; returns err. */
int genetlink_fail(struct genetlink *link, int err, const char *what);

#endif
