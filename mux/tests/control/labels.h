/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method with arrays, linked in place of the product's methods: the ring's, and arrays that are their
 * generation's number in decimal digits, with any spaces behind it; a patch is "5>7". It logs event=pair_7_5 when 7's and 5's are to be published,
 * pair_7_low with the hash's low bits, and pair_7 once settled.
 */
#ifndef FAIRLEAD_MUX_TESTS_LABELS_H
#define FAIRLEAD_MUX_TESTS_LABELS_H

#include "steering/steering.h"

extern const struct steering labels;

/* The arrays of a generation, with one reference. */
void *labels_make(uint32_t generation);
/* That of arrays. */
uint32_t labels_generation(const void *arrays);

#endif
