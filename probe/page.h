/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's metrics by HTTP: GET /metrics. */
#ifndef FAIRLEAD_PROBE_PAGE_H
#define FAIRLEAD_PROBE_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "config/http_access.h"
#include "config/reason.h"

struct pool;
struct prober;
struct cluster;
struct tunnel;

/* What the metrics are about. */
struct page_sources {
	const struct pool *pool;
	const struct prober *prober;
	const struct cluster *cluster;
	const struct tunnel *tunnel;
	unsigned unprotected; /* protection_missing() */
};

struct page;

/* access is kept. NULL and why if it can't listen there. */
struct page *page_open(const struct http_access *access, const struct page_sources *sources, struct reason *why);
void page_close(struct page *page);
int page_fd(const struct page *page);
/* Milliseconds until page_run() is due, at most limit. */
int page_wait(const struct page *page, int limit, uint64_t now_ms);
void page_run(struct page *page, uint64_t now_ms);

/* The metrics, in Prometheus' text format. */
void page_write(FILE *out, const struct page_sources *sources);

#endif
