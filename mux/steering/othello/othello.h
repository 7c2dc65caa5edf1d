/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steering `othello`: a connection's bucket is a code that two arrays give (fairlead/othello.h). The controller gives
 * connections that it knows codes of buckets that their servers own; the codes of all others are random, so that they
 * are spread as the ring's shares say. Everything behind the bucket is as with `ring`.
 *
 *	newest arrays K		the first bucket: where a new connection is opened
 *	arrays before, K-1	the second bucket, if it differs: where a connection is that was opened under K-1 and is
 *				unknown in K. Steady state: none, and one lookup
 *	no arrays yet		the hash's low bits, as with `ring`
 *
 * Per packet a product, two cells and an exclusive or, inline in the packet path (othello_path.h). The cells of a group
 * of eight packets are fetched while the next eight are classified; those of a million connections take 3.5 to 4.7 MB,
 * more than most second-level caches.
 */
#ifndef FAIRLEAD_MUX_STEERING_OTHELLO_H
#define FAIRLEAD_MUX_STEERING_OTHELLO_H

#include "steering/steering.h"

extern const struct steering steering_othello;

#endif
