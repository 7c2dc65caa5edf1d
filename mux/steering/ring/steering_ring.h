/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `ring`: the low half of a connection's hash gives its bucket, and the connection goes to the bucket's
 * backend, as in Beamer (section 4.1). Muxes keep no state about connections; the packet path itself finds the bucket
 * (steering.h).
 */
#ifndef FAIRLEAD_MUX_STEERING_RING_H
#define FAIRLEAD_MUX_STEERING_RING_H

#include "steering/steering.h"

extern const struct steering steering_ring;

/* The bucket of the hash's low half; other methods fall back to it. */
uint32_t steering_ring_bucket(const struct service *service, const struct ring *ring, uint64_t hash);

#endif
