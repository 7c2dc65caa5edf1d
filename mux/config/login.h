/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the mux logs in to a protected ZooKeeper.
 *
 * The file's first line USER:PASSWORD is the one that all muxes share and that may read what the controllers write;
 * further ones are there while a password is being replaced. Each process draws one more for itself, and protects its
 * own node by it: another mux, though it has the shared one, can read the node and not change it.
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
	LOGIN_SECRET = 32,    /* bytes that a process draws */
	LOGIN_DIGEST_MAX = 64 + 1 + 28,
};

struct login {
	unsigned count; /* lines, the drawn one behind them; 0: no login, all access lists are open */
	char lines[LOGIN_LINES_MAX + 1][LOGIN_TEXT_MAX + 1];
};

/* The access list of a mux's own node, for as long as this lives. */
struct login_acl {
	char muxes[LOGIN_DIGEST_MAX + 1], own[LOGIN_DIGEST_MAX + 1];
	struct ACL entries[2];
	struct ACL_vector vector;
};

/*
 * Reads a file that only its owner may read. -EINVAL and why, where name is the option's; the file's content is never
 * shown.
 */
int login_read(const char *name, const char *path, struct login *out, struct reason *why);

/* Says it to the server, now and whenever the client connects again. */
void login_add(const struct login *login, zhandle_t *zk);

/* Everything for this process, reading for those who know the shared line; or everything for everybody. */
const struct ACL_vector *login_node_acl(const struct login *login, struct login_acl *out);

#endif
