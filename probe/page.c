/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "config/protection.h"
#include "observe/exposition.h"
#include "observe/listener.h"
#include "prober.h"

struct page {
	struct listener *listener;
	struct page_sources sources;
};

/* Backends by what is known of them. */
static void backends(struct exposition *to, const struct pool *pool)
{
	static const char *const words[] = {"unknown", "up", "down"};

	exposition_begin(to, "backends", "gauge", "Probed backends, by health.");
	for (unsigned i = 0; i < pool->count; i++) {
		const struct probed *service = pool->services[i];
		uint32_t counts[3] = {0};
		const struct probe *worst;

		if (service->refusal != PROBED)
			continue;
		for (uint32_t j = 0; j < service->count; j++)
			counts[target_health(service->targets[j], &worst)]++;
		to->service = service->name;
		for (int k = 0; k < 3; k++)
			exposition_add(to, "health", words[k], counts[k]);
		exposition_add(to, "health", "skipped", service->skipped_count);
	}
	to->service = NULL;
	exposition_begin(to, "service_unprobed", "gauge", "1 for a service whose healthCheck can't be followed.");
	for (unsigned i = 0; i < pool->count; i++)
		if (pool->services[i]->refusal == PROBED_CHECK || pool->services[i]->refusal == PROBED_NO_SOURCE)
			exposition_add(to, "service", pool->services[i]->name, 1);
}

static void unprotected(struct exposition *to, unsigned missing)
{
	exposition_begin(to, "unprotected", "gauge",
			 "1 for each protection against others in the network that this probe lacks.");
	for (enum protection i = 0; i < PROTECTIONS; i++)
		exposition_add(to, "what", protections[i].name, missing >> i & 1);
}

void page_write(FILE *out, const struct page_sources *sources)
{
	const struct prober *prober = sources->prober;
	const struct tunnel_counters *tunnel = tunnel_counters(sources->tunnel);
	struct exposition to = {.out = out, .prefix = "fairlead_probe"};

	exposition_write(&to, "zookeeper_connected", "gauge", "1 while there is a session with ZooKeeper.",
			 cluster_is_connected(sources->cluster));
	exposition_write(&to, "registered", "gauge", "1 while the results are in ZooKeeper.",
			 cluster_is_registered(sources->cluster));
	unprotected(&to, sources->unprotected);
	backends(&to, sources->pool);
	exposition_write(&to, "source_ports_taken", "gauge", "Source ports that attempts use now.",
			 ports_taken(prober->ports));
	exposition_begin(&to, "results_total", "counter", "Attempts, by outcome.");
	for (int i = 0; i < OUTCOMES_COUNT; i++)
		exposition_add(&to, "outcome", outcome_name(i), prober->counters.outcomes[i]);
	exposition_begin(&to, "void_total", "counter", "Attempts that show nothing about their backend, by reason.");
#define PROBER_COUNTER(name, help) exposition_add(&to, "reason", #name, prober->counters.name);
	PROBER_COUNTERS(PROBER_COUNTER)
#undef PROBER_COUNTER
	exposition_begin(&to, "packets_total", "counter",
			 "Packets of probes, by whether they were sent or why they were dropped.");
#define TUNNEL_COUNTER(name, help) exposition_add(&to, "action", #name, tunnel->name);
	TUNNEL_COUNTERS(TUNNEL_COUNTER)
#undef TUNNEL_COUNTER
}

static void answer(void *context, const struct request *request, struct response *response)
{
	const struct page *page = context;
	FILE *out;

	if (strcmp(request->head.path, "/metrics")) {
		response_problem(response, RESPONSE_NOT_FOUND, "path", request->head.path, "/metrics");
		return;
	}
	out = open_memstream(&response->text, &response->len);
	if (!out)
		return;
	page_write(out, &page->sources);
	listener_write_metrics(out, "fairlead_probe", page->listener);
	fclose(out);
	response->status = RESPONSE_OK;
	response->type = "text/plain; version=0.0.4; charset=utf-8";
}

struct page *page_open(const struct http_access *access, const struct page_sources *sources, struct reason *why)
{
	struct page *page = calloc(1, sizeof(*page));
	const struct listener_config config = {.program = "probe", .handler = answer, .context = page};

	if (!page) {
		reason_set(why, -ENOMEM, "--http: no memory");
		return NULL;
	}
	page->sources = *sources;
	page->listener = listener_open(access, &config, why);
	if (page->listener)
		return page;
	free(page);
	return NULL;
}

void page_close(struct page *page)
{
	listener_close(page->listener);
	free(page);
}

int page_fd(const struct page *page)
{
	return listener_fd(page->listener);
}

int page_wait(const struct page *page, int limit, uint64_t now_ms)
{
	int ms = listener_timeout(page->listener, now_ms);

	return ms >= 0 && ms < limit ? ms : limit;
}

void page_run(struct page *page, uint64_t now_ms)
{
	listener_run(page->listener, now_ms);
}
