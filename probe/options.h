/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of fairlead-probe: flags, or environment variables FAIRLEAD_PROBE_<NAME> (underscores for dashes) where a
 * flag is absent.
 */
#ifndef FAIRLEAD_PROBE_OPTIONS_H
#define FAIRLEAD_PROBE_OPTIONS_H

#include <fairlead/hash.h>

#include "config/http_access.h"
#include "config/login.h"
#include "config/reason.h"
#include "config/tag_key.h"

enum {
	OPTIONS_PORTS_MIN = 64, /* source ports */
	OPTIONS_HTTP_PORT = 9109,
	OPTIONS_ID_MAX = 63,
};

struct probe_options {
	char id[OPTIONS_ID_MAX + 1];
	const char *zookeeper;
	bool zookeeper_clear_text;
	const char *root;
	struct fl_address outer[2]; /* --address, by family; fl_address_is_none: none */
	struct fl_address inner[2]; /* --source; else the same */
	uint16_t first_port, last_port;
	const char *commands;    /* NULL: none */
	const char *ca_file;     /* NULL: the system's */
	struct http_access http; /* --http, --http-cert, ... */
	bool has_tag_key;
	struct tag_keys tag_keys;
	struct login login;
	bool help;
	bool version;
};

/* Texts point into argv and the environment. Returns -EINVAL and why on failure. */
int probe_options_parse(struct probe_options *options, int argc, char *const *argv, char *const *environment,
			struct reason *why);

extern const char probe_usage[];

#endif
