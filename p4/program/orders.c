/* SPDX-License-Identifier: Apache-2.0 */
#include "orders.h"

#include "layout.h"

void orders_init(struct orders *orders, struct cores *cores)
{
	*orders = (struct orders){.cores = cores};
	regions_init(&orders->cells, P4_NOTED);
}

void orders_clear(struct orders *orders)
{
	regions_clear(&orders->cells);
}

bool orders_has_room(const struct orders *orders, const struct order_copy *own, uint32_t cells)
{
	return cells <= own->cells.size || cells <= regions_largest(&orders->cells);
}

/* Packets take their first buckets meanwhile, so that none is where cells are cleared. */
static void drop(struct orders *orders, struct order_copy *order, uint32_t slot)
{
	if (!order->cells.size)
		return;
	cores_write_line(orders->cores, slot, P4_LINE_FILTER, 0);
	cores_settle(orders->cores);
	regions_give(&orders->cells, &order->cells);
	*order = (struct order_copy){0};
}

void orders_configure(struct orders *orders, struct order_copy *order, uint32_t slot, const struct service *service)
{
	const struct maat *maat = service ? maat_of(service) : NULL;

	if (maat && order->cells.size == maat->settings.filter_bytes && order->hashes == maat->settings.filter_hashes)
		return;
	drop(orders, order, slot);
	if (!maat || !regions_take(&orders->cells, maat->settings.filter_bytes, &order->cells))
		return;
	order->hashes = maat->settings.filter_hashes;
	for (uint32_t i = 0; i < order->cells.size; i++)
		cores_write(orders->cores, "noted", order->cells.base + i, 0);
	cores_write_line(orders->cores, slot, P4_LINE_LEAST, p4_least(service));
	cores_write_line(orders->cores, slot, P4_LINE_FILTER, p4_filter(service, order->cells.base));
}

/* Writes a word that has another value. */
static void update(struct orders *orders, const char *name, uint32_t at, uint64_t word)
{
	if (cores_read(orders->cores, name, at) != word)
		cores_write(orders->cores, name, at, word);
}

void orders_write(struct orders *orders, const struct copy *copy, const struct service *service)
{
	const struct backends *backends = ring_backends(service_ring(service));

	for (uint32_t i = 0; i < backends->count; i++) {
		uint16_t id = backends->list[i].id;

		if (id < copy->ids && copy->places[id] != P4_PLACES)
			update(orders, "templates", copy->places[id] * P4_LINE_WORDS + P4_TEMPLATE_SCORE,
			       p4_score(service, id));
	}
	update(orders, "services", p4_slot(service) * P4_LINE_WORDS + P4_LINE_LEAST, p4_least(service));
}

/* As the C mux's filter: clears a cell that was not used since the last visit. */
static void visit(struct orders *orders, uint32_t at)
{
	for (unsigned worker = 0; worker < orders->cores->count; worker++) {
		struct pipeline *pipeline = orders->cores->pipeline[worker];
		uint64_t cell = pipeline_read(pipeline, "noted", at);

		if (cell)
			pipeline_write(pipeline, "noted", at,
				       cell & MAAT_FILTER_USED ? cell & MAAT_FILTER_COUNT_MAX : 0);
	}
}

static void sweep(struct orders *orders, struct order_copy *order, uint64_t now_ms)
{
	uint64_t cells = order->cells.size, passed = now_ms - order->swept_ms, due;

	if (!cells)
		return;
	if (!order->swept_ms || passed > MAAT_FILTER_ROUND_MS) {
		order->swept_ms = now_ms;
		return;
	}
	due = passed * cells / MAAT_FILTER_ROUND_MS;
	order->swept_ms += due * MAAT_FILTER_ROUND_MS / cells;
	for (; due; due--) {
		visit(orders, order->cells.base + order->swept);
		order->swept = (order->swept + 1) % order->cells.size;
	}
}

void orders_tick(struct orders *orders, struct order_copy *order, const struct copy *copy,
		 const struct service *service, uint64_t now_ms)
{
	if (order->ticked_ms && now_ms - order->ticked_ms < MAAT_TICK_MS)
		return;
	order->ticked_ms = now_ms;
	sweep(orders, order, now_ms);
	if (copy->region.size)
		orders_write(orders, copy, service);
}
