/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of a web server, fetched again and again over a connection that is kept. Of https the system's certificates are
 * trusted.
 */
#ifndef FAIRLEAD_AGENT_PAGE_H
#define FAIRLEAD_AGENT_PAGE_H

#include <stddef.h>

#include "figures.h"

struct page;

/* Whether it is an http or https URL without user and password. */
bool page_url_is_right(const char *url);

/* NULL: no memory. */
struct page *page_open(const char *url);
void page_close(struct page *page);

/* Fetches it; its text is valid until the next call. NULL: not within the time, or not with status 200, and why. */
const char *page_fetch(struct page *page, long deadline_ms, size_t *len, char why[FIGURES_WHY_MAX]);

#endif
