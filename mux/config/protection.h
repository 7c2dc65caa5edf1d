/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What protects a mux or a probe from others in its network (docs/security.md): --check, the start's log and the metric
 * `unprotected` name what is missing.
 */
#ifndef FAIRLEAD_MUX_PROTECTION_H
#define FAIRLEAD_MUX_PROTECTION_H

#include <stdbool.h>

#include "config/http_access.h"
#include "config/reason.h"

enum protection {
	PROTECTION_TAG_KEY,             /* packets to servers, and hellos, carry a tag */
	PROTECTION_ZOOKEEPER_LOGIN,     /* others cannot write what is read there */
	PROTECTION_ZOOKEEPER_TRANSPORT, /* nor what is on its way: it stays on this host, where a tunnel may begin */
	PROTECTION_HTTP,                /* --http answers this host, or who has a token */
	PROTECTIONS,
};

/* One bit each, 1 << PROTECTION_TAG_KEY and so on: those that are missing. */
unsigned protection_missing(bool has_tag_key, bool has_login, const char *zookeeper, const struct http_access *http);

/* Each one's label of the metric, and what to set. */
extern const struct protection_words {
	const char *name, *remedy;
} protections[PROTECTIONS];

/*
 * Whether --zookeeper HOST:PORT,... may be connected to: the client has no TLS, so only where no other is on the way,
 * or where --zookeeper-clear-text is on. -EINVAL and why if not.
 */
int protection_check_zookeeper(const char *servers, bool clear_text, struct reason *why);

#endif
