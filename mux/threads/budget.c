/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/budget.h"

#include "flow/service.h"

static int64_t refilled(int64_t left, uint64_t rate, uint64_t elapsed_ms)
{
	int64_t full = (int64_t)(rate * BUDGET_DEPTH_MS);

	left += (int64_t)(rate * elapsed_ms);
	return left < full ? left : full;
}

bool budget_take(struct budget *budget, const struct budget_rates *rates, uint32_t packets, uint32_t bytes,
		 uint64_t now_ms)
{
	uint64_t elapsed = now_ms - budget->at_ms;

	if (elapsed > BUDGET_DEPTH_MS)
		elapsed = BUDGET_DEPTH_MS;
	budget->at_ms = now_ms;
	budget->packets = refilled(budget->packets, rates->packets, elapsed);
	budget->bytes = refilled(budget->bytes, rates->bytes, elapsed);
	if ((rates->packets && budget->packets <= 0) || (rates->bytes && budget->bytes <= 0))
		return false;
	budget->packets -= rates->packets ? packets * INT64_C(1000) : 0;
	budget->bytes -= rates->bytes ? bytes * INT64_C(1000) : 0;
	return true;
}

static uint64_t share(uint64_t rate, unsigned workers)
{
	return (rate + workers - 1) / workers;
}

static bool passes(struct budget *budgets, unsigned workers, const struct service *service, uint32_t packets,
		   uint32_t bytes, uint64_t now_ms)
{
	uint32_t most_packets = __atomic_load_n(&service->packets_per_second, __ATOMIC_RELAXED);
	uint64_t most_bytes = __atomic_load_n(&service->bytes_per_second, __ATOMIC_RELAXED);
	struct budget_rates rates = {share(most_packets, workers), share(most_bytes, workers)};

	return (!most_packets && !most_bytes) || budget_take(&budgets[service->slot], &rates, packets, bytes, now_ms);
}

void budgets_apply(struct budget *budgets, unsigned workers, struct burst *burst, uint64_t now_ms)
{
	struct packet *packets = burst->packets;
	uint32_t end;

	for (uint32_t i = 0; i < burst->count; i = end) {
		const struct service *service = packets[i].service;
		uint32_t bytes = 0;

		for (end = i;
		     end < burst->count && packets[end].verdict == VERDICT_SERVICE && packets[end].service == service;
		     end++)
			bytes += packets[end].ip_len;
		if (end == i)
			end++;
		else if (!passes(budgets, workers, service, end - i, bytes, now_ms))
			for (uint32_t j = i; j < end; j++)
				packets[j].verdict = VERDICT_OVER_BUDGET;
	}
}
