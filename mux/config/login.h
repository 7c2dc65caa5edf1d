/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the mux logs in to a protected ZooKeeper.
 *
 * The file's first line, USER:PASSWORD, is shared by all muxes and may read what the controllers write. Further lines
 * are needed only while a password is being replaced. Each process also draws a login of its own at random and
 * protects its node with it: another mux, which has only the shared login, can read the node but not change it.
 */
#ifndef FAIRLEAD_MUX_LOGIN_H
#define FAIRLEAD_MUX_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "config/reason.h"

enum login_limits {
	LOGIN_LINES_MAX = 4,
	LOGIN_TEXT_MAX = 321, /* 64 characters, a colon, 256 characters */
	LOGIN_SECRET = 32,    /* random bytes that each process draws */
	LOGIN_DIGEST_MAX = 64 + 1 + 28,
};

struct login {
	unsigned count; /* of lines, the last one drawn by this process; 0: no login, all access lists are open */
	char lines[LOGIN_LINES_MAX + 1][LOGIN_TEXT_MAX + 1];
};

/* The access list of a mux's own node; must outlive its use. */
struct login_acl {
	char muxes[LOGIN_DIGEST_MAX + 1], own[LOGIN_DIGEST_MAX + 1];
	struct ACL entries[2];
	struct ACL_vector vector;
};

/*
 * Reads a file that only its owner may read. Returns -EINVAL and why on failure; name is the option's, and why never
 * contains any of the file's content.
 */
int login_read(const char *name, const char *path, struct login *out, struct reason *why);

/* Logs in to the server, now and at each reconnect of the client. */
void login_add(const struct login *login, zhandle_t *zk);

/* All rights for this process and read access for the shared login. Without a login: all rights for everyone. */
const struct ACL_vector *login_node_acl(const struct login *login, struct login_acl *out);

#endif
