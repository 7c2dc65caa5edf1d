/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `ring`: a connection's bucket is the low half of its hash, and the bucket's backend has the connection, as
 * in Beamer (section 4.1). Muxes keep nothing about connections; the packet path itself finds the bucket (steering.h).
 */
#ifndef FAIRLEAD_MUX_STEERING_RING_H
#define FAIRLEAD_MUX_STEERING_RING_H

#include "steering/steering.h"

extern const struct steering steering_ring;

/* The bucket of the hash's low half; other methods fall back to it. */
uint32_t steering_ring_bucket(const struct ring *ring, uint64_t hash);

#endif
