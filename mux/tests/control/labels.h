/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A steering method with a blob, linked in place of the product's methods: the ring's, and a blob that is the
 * generation's number in decimal digits. It logs event=blob_7 when it has loaded 7's.
 */
#ifndef FAIRLEAD_MUX_TESTS_LABELS_H
#define FAIRLEAD_MUX_TESTS_LABELS_H

#include "steering/steering.h"

extern const struct steering labels;

#endif
