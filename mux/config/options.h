/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of fairlead-mux: flags, or environment variables FAIRLEAD_MUX_<NAME> (underscores for dashes) where a
 * flag is absent. An unknown flag or variable, or a bad value, fails the start with its name, its value and what is
 * allowed.
 */
#ifndef FAIRLEAD_MUX_OPTIONS_H
#define FAIRLEAD_MUX_OPTIONS_H

#include "config/http_access.h"
#include "config/login.h"
#include "config/reason.h"
#include "config/tag_key.h"

enum options_limits {
	OPTIONS_TEXT_MAX = 255,
	OPTIONS_PORTS_MAX = 16,
	OPTIONS_WORKERS_MAX = 64,
	OPTIONS_SECONDS_MAX = 3600,
	OPTIONS_SPIN = 30, /* microseconds */
	OPTIONS_SPIN_MAX = 1000000,
	OPTIONS_GENERATIONS_MAX = 1000000,
	OPTIONS_HELLO_PORT = 6081,
	OPTIONS_CHECK_PATHS_MAX = 1000000,
};

enum announce {
	ANNOUNCE_TUN,
	ANNOUNCE_NONE,
};

/* How a mux of kind p4 runs its pipeline. AUTO: compiled if it can, else interpreted. */
enum pipeline_mode {
	PIPELINE_AUTO,
	PIPELINE_INTERPRETED,
	PIPELINE_COMPILED,
};

/* How packets are processed: by the fastest path that this machine can, or by one of enum burst_path, in its order. */
enum packet_path {
	PACKET_PATH_AUTO,
	PACKET_PATH_REFERENCE,
};

/* How far a ring may be behind before its VIPs are withdrawn. 0: no bound. */
struct lag_limits {
	uint32_t seconds;
	uint32_t generations;
};

struct options {
	char id[64];                          /* --id: letters, digits, '-', '_', '.' */
	char zookeeper[OPTIONS_TEXT_MAX + 1]; /* --zookeeper host:port,... */
	bool zookeeper_clear_text;            /* --zookeeper-clear-text */
	char root[OPTIONS_TEXT_MAX + 1];      /* --root /fairlead */
	char state_dir[OPTIONS_TEXT_MAX + 1]; /* --state-dir; empty: none */
	unsigned ports_count;
	char ports[OPTIONS_PORTS_MAX][OPTIONS_TEXT_MAX + 1]; /* --port, see port.h */
	struct fl_address address;                           /* --address, IPv4; none: the first port's */
	struct fl_address address6;                          /* --address, IPv6; none: the first port's */
	struct http_access http;                             /* --http, --http-cert, ... */
	bool http_samples;                                   /* --http-samples: packets also to other hosts */
	unsigned hello_port;                                 /* --hello; 0: off */
	unsigned workers;                                    /* --workers */
	unsigned memory;                                     /* --memory, MB */
	unsigned spin;                                       /* --spin, microseconds */
	unsigned withdraw_wait;                              /* --withdraw-wait, seconds */
	unsigned drain;                                      /* --drain, seconds */
	bool no_huge;                                        /* --no-huge */
	enum packet_path packet_path;                        /* --packet-path */
	unsigned check_paths;                                /* --check-paths: one burst in so many; 0: none */
	bool no_exception;           /* not a flag: raw ports without a way to the kernel, for benchmarks */
	enum announce announce;      /* --announce */
	bool watchdog;               /* --watchdog (watchdog.h) */
	enum pipeline_mode pipeline; /* --pipeline, of fairlead-p4mux */
	struct lag_limits behind;    /* --behind-seconds, --behind-generations */
	bool has_tag_key;            /* --tag-key: a file with the cluster's key, or two */
	struct tag_keys tag_keys;    /* all zero: none */
	struct login login;          /* --zookeeper-auth; without it the mux does not log in */
	bool check;                  /* --check: see preflight.h */
	bool json;                   /* --output json, of --check */
	bool help;
	bool version;
};

/* argv excludes the program's name; environment is like environ. Returns -EINVAL and why on failure. */
int options_parse(struct options *options, int argc, char *const *argv, char *const *environment, struct reason *why);

/* What does not protect this mux: protection_missing(). */
unsigned options_unprotected(const struct options *options);

/* The options, a line or more each. */
extern const char options_usage[];

#endif
