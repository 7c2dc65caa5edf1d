/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that mux_packet measures, their results, and how these are reported. */
#ifndef FAIRLEAD_BENCH_STAND_H
#define FAIRLEAD_BENCH_STAND_H

#include "packet/burst.h"
#include "encap/encap.h"
#include "steering/steering.h"
#include "config/service_config.h"

enum {
	STAND_STAGES = 5,
	STAND_RUNS_MAX = 101,
	STAND_BACKENDS = 256,
	STAND_FRAME = 64,
};

extern const char *const stand_stages[STAND_STAGES];

/* One row; 0 and NULL mean as in the first row. */
struct row {
	const char *name;
	uint32_t flows;
	uint32_t buckets;
	uint32_t services;
	enum fl_hash_kind hash;
	const struct encap *encap;
	const struct steering *steering;
	bool stateful;    /* by a table of flows (flowtable/flowtable.h) */
	bool changes;     /* CHANGES generations a second, each moving a tenth of the buckets */
	bool told;        /* all buckets have just moved: every packet carries MOVED */
	uint32_t most;    /* each bucket has up to so many former owners, in place of `told` */
	uint32_t lists;   /* so many different lists; 0: as many as there are buckets */
	bool udp;         /* datagrams, whose sources are looked up among the VIPs (classify.c) */
	bool ipv6;        /* packets, not backends */
	bool tagged;      /* with the cluster's key */
	bool syns;        /* every packet is one */
	const char *path; /* of burst_paths; NULL: the fastest */
	uint32_t floor;   /* enum packet_floor: not the mux, but what it has to do at least */
	uint32_t arrays;  /* steering othello: how many a packet's buckets are looked up in, 0 to 2 */
	uint32_t load;    /* steering maat: enum maat_load */
	bool full;        /* steering maat: the filter has every connection */
	uint32_t news; /* one in how many cells differs between two arrays, 0: their seeds differ, and so nearly all */
};

/* A row that is set up, and its results. */
struct stand {
	struct row row;
	struct tables *tables;
	struct service *service;     /* the first */
	struct flowtable *flowtable; /* of row.stateful */
	uint32_t at;                 /* the next flow */
	uint64_t bytes;              /* of rings and lookups */
	uint64_t generations;
	double times[STAND_RUNS_MAX];
	double median, fastest, slowest, ratio;
	double stage[STAND_STAGES];
	double instructions, misses; /* per packet; negative: neither the machine nor processor.h counts them */
};

/* What all rows share. */
struct stands {
	uint64_t seed;
	unsigned runs;
	double ns_of_cycle; /* of the time stamp counter */
	double core_ns;     /* of the core's own cycle */
	int count;
	const struct stand *list;
};

void stands_print(const struct stands *stands);

/* As JSON; false: the file can't be written. */
bool stands_write(const struct stands *stands, const char *path);

/* "model name" of /proc/cpuinfo without quotes; figures mean nothing without it. */
void stand_cpu(char *out, size_t size);

#endif
