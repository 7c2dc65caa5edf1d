// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1 << 20, /* a scoreboard has a letter for each worker */
};

struct page {
	CURL *easy;
	size_t len;
	bool too_long;
	char text[TEXT_MAX];
};

bool page_url_is_right(const char *url)
{
	static const CURLUPart absent[] = {CURLUPART_USER, CURLUPART_PASSWORD};
	CURLU *parsed = curl_url();
	char *scheme = NULL, *part;
	bool is_right = parsed && !curl_url_set(parsed, CURLUPART_URL, url, 0) &&
			!curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) &&
			(!strcmp(scheme, "http") || !strcmp(scheme, "https"));

	for (size_t i = 0; is_right && i < sizeof(absent) / sizeof(absent[0]); i++) {
		part = NULL;
		is_right = curl_url_get(parsed, absent[i], &part, 0) != CURLUE_OK;
		curl_free(part);
	}
	curl_free(scheme);
	curl_url_cleanup(parsed);
	return is_right;
}

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct page *page = context;
	size_t len = size * count;

	if (len > TEXT_MAX - page->len) {
		page->too_long = true;
		return 0;
	}
	memcpy(page->text + page->len, data, len);
	page->len += len;
	return len;
}

struct page *page_open(const char *url)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->easy = curl_easy_init();
	if (!page->easy || curl_easy_setopt(page->easy, CURLOPT_URL, url)) {
		page_close(page);
		return NULL;
	}
	curl_easy_setopt(page->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(page->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(page->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(page->easy, CURLOPT_USERAGENT, "fairlead-server/" FAIRLEAD_VERSION);
	curl_easy_setopt(page->easy, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(page->easy, CURLOPT_WRITEDATA, page);
	return page;
}

void page_close(struct page *page)
{
	if (!page)
		return;
	curl_easy_cleanup(page->easy);
	free(page);
}

const char *page_fetch(struct page *page, long deadline_ms, size_t *len, char why[FIGURES_WHY_MAX])
{
	CURLcode code;
	long status = 0;

	page->len = 0;
	page->too_long = false;
	curl_easy_setopt(page->easy, CURLOPT_TIMEOUT_MS, deadline_ms);
	code = curl_easy_perform(page->easy);
	curl_easy_getinfo(page->easy, CURLINFO_RESPONSE_CODE, &status);
	*len = page->len;
	if (!code && status == 200)
		return page->text;
	if (page->too_long)
		snprintf(why, FIGURES_WHY_MAX, "the page is longer than 1 MiB");
	else if (code == CURLE_OPERATION_TIMEDOUT)
		snprintf(why, FIGURES_WHY_MAX, "no answer within %ld ms", deadline_ms);
	else if (code)
		snprintf(why, FIGURES_WHY_MAX, "%s", curl_easy_strerror(code)); /* the same words each time */
	else
		snprintf(why, FIGURES_WHY_MAX, "status %ld is not allowed; allowed: 200", status);
	return NULL;
}
