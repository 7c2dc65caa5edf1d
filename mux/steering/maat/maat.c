/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/maat/maat.h"

#include <stdlib.h>

#include "config/options.h"
#include "ring/backend.h"
#include "ring/ring.h"
#include "steering/hunt/hunt.h"
#include "steering/ring/steering_ring.h"

static void drop(void *data)
{
	struct maat *maat = data;

	if (maat->filter)
		maat_filter_free(maat->filter);
	if (maat->loads)
		maat_loads_free(maat->loads);
	free(maat);
}

/* What the packet path reads. */
static void point(struct maat *maat)
{
	static const uint8_t ask = 1;
	bool is_on = maat->filter->mode == MAAT_FILTER_ON;

	maat->counts = maat->loads->counts;
	maat->cells = is_on ? maat->filter->cells : &ask;
	maat->cells_mask = is_on ? maat->filter->mask : 0;
}

void maat_set_mode(struct service *service, enum maat_filter_mode mode)
{
	struct maat *maat = maat_of(service);

	maat->filter->mode = mode;
	point(maat);
}

static bool same_filter(const struct maat_settings *a, const struct maat_settings *b)
{
	return a->filter_bytes == b->filter_bytes && a->filter_hashes == b->filter_hashes;
}

static struct maat_loads *take_loads(const struct maat *old, const struct options *options)
{
	if (!old)
		return maat_loads_new(options->workers ? options->workers : 1);
	old->loads->references++;
	return old->loads;
}

static struct maat_filter *take_filter(const struct maat *old, const struct maat_settings *settings)
{
	struct maat_filter *filter;

	if (old && same_filter(&old->settings, settings)) {
		old->filter->references++;
		return old->filter;
	}
	filter = maat_filter_new(settings->filter_bytes, settings->filter_hashes);
	if (filter && old)
		filter->mode = old->filter->mode;
	return filter;
}

static void *serve(const struct service_config *config, const struct options *options, void *old)
{
	struct maat *maat = calloc(1, sizeof(*maat));

	if (!maat)
		return NULL;
	maat->settings = config->maat;
	maat->loads = take_loads(old, options);
	maat->filter = take_filter(old, &config->maat);
	if (maat->loads && maat->filter) {
		point(maat);
		return maat;
	}
	drop(maat);
	return NULL;
}

static void tick(const struct service *service, uint64_t now_ms)
{
	const struct maat *maat = service_steering_data(service);

	maat_filter_sweep(maat->filter, now_ms);
	if (service_ring(service))
		maat_loads_tick(maat->loads, &maat->settings, ring_backends(service_ring(service)), now_ms);
}

/* Whether packets can be sent to the bucket's owner: only then it is asked first (maat_path.h). */
static bool is_reached(const struct service *service, uint32_t bucket)
{
	const struct ring *ring = service_ring(service);

	return backend_state(&ring_backends(ring)->rows[fl_row_current(ring_row(ring, bucket))]) == BACKEND_READY;
}

static void explain(const struct service *service, const struct flow *flow, struct explanation *out)
{
	const struct maat *maat = service_steering_data(service);
	uint32_t first;

	hunt_explain(service, flow, out);
	if (out->second.bucket == RING_BUCKET_NONE)
		return;
	out->is_ordered = true;
	out->is_noted = is_reached(service, out->second.bucket) && maat_filter_has(maat->filter, out->hash);
	if (!out->is_noted)
		return;
	first = out->first.bucket;
	out->first.bucket = out->second.bucket;
	out->second.bucket = first;
}

const struct steering steering_maat = {
    .name = "maat",
    .has_second = true,
    .bucket = steering_ring_bucket,
    .check = hunt_check,
    .explain = explain,
    .serve = serve,
    .tick = tick,
    .drop = drop,
};
