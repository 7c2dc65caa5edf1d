/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a mux or probe logs in to a protected ZooKeeper, by the file that `fairleadctl mux add` prints.
 *
 * The first line, USER:PASSWORD, is the readers', which all muxes and probes share: it may read what the controllers
 * write. The second one is this mux's own, which alone may create its node and change it. Further lines are needed only
 * while the readers' password is being replaced.
 */
#ifndef FAIRLEAD_MUX_LOGIN_H
#define FAIRLEAD_MUX_LOGIN_H

#include "config/reason.h"

enum login_limits {
	LOGIN_LINES_MIN = 2,
	LOGIN_LINES_MAX = 4,
	LOGIN_USER_MAX = 70,  /* "probe-" and the longest id */
	LOGIN_TEXT_MAX = 327, /* a user, a colon, 256 characters */
	LOGIN_DIGEST_MAX = LOGIN_USER_MAX + 1 + 28,
};

enum login_line { LOGIN_READERS, LOGIN_OWN };

struct login {
	unsigned count; /* of lines; 0: no login, all access lists are open */
	char lines[LOGIN_LINES_MAX][LOGIN_TEXT_MAX + 1];
	/* As ZooKeeper's access lists name the lines' users: USER:BASE64(SHA-1(USER:PASSWORD)). */
	char digests[LOGIN_LINES_MAX][LOGIN_DIGEST_MAX + 1];
};

/*
 * Reads a file that only its owner may read. Returns -EINVAL and why on failure; name is the option's, and why never
 * contains any of the file's content.
 */
int login_read(const char *name, const char *path, struct login *out, struct reason *why);

#endif
