/* SPDX-License-Identifier: Apache-2.0 */
/* Whether ZooKeeper lets the mux read its tree. Reads go on without access, since it may be granted later. */
#ifndef MUX_TREE_ACCESS_H
#define MUX_TREE_ACCESS_H

#include <stdbool.h>

struct tree_access {
	bool has_login; /* --zookeeper-auth */
	bool is_denied; /* as last logged */
};

/* A read of path has ended with rc; logs each change, and how many services are served meanwhile. */
void tree_access_note(struct tree_access *access, const char *path, int rc, unsigned services);

#endif
