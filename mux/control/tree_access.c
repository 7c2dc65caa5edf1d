/* SPDX-License-Identifier: Apache-2.0 */
#include "control/tree_access.h"

#include <stdio.h>

#include "control/zookeeper.h"

void tree_access_note(struct tree_access *access, const char *path, int rc, unsigned services)
{
	bool is_denied = rc == ZNOAUTH || rc == ZAUTHFAILED;

	if (is_denied == access->is_denied || (!is_denied && rc != ZOK))
		return;
	if (is_denied)
		fprintf(stderr, "mux event=zookeeper_denied path=%s services=%u why=\"--zookeeper-auth is %s\"\n", path,
			services, access->has_login ? "wrong" : "missing");
	else
		fprintf(stderr, "mux event=zookeeper_allowed path=%s services=%u\n", path, services);
	access->is_denied = is_denied;
}
