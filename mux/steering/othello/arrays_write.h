/* SPDX-License-Identifier: Apache-2.0 */
/* Writes arrays as whole ones (protocol/README.md section 12). */
#ifndef FAIRLEAD_MUX_OTHELLO_ARRAYS_WRITE_H
#define FAIRLEAD_MUX_OTHELLO_ARRAYS_WRITE_H

#include "ring/body_write.h"
#include "steering/othello/arrays.h"

/* 0, -ENOMEM, or the sink's error. */
int othello_arrays_write(const struct othello_arrays *arrays, uint32_t service, body_sink sink, void *context);

#endif
