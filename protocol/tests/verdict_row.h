/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a row of verdict.json, for every C runner of them. Each ends the test if a key is missing or wrong. */
#ifndef FAIRLEAD_TESTS_VERDICT_ROW_H
#define FAIRLEAD_TESTS_VERDICT_ROW_H

#include <fairlead/verdict.h>

#include "vectors.h"

/* in.packet, out.verdict. */
enum fl_packet_class verdict_row_class(const json_t *in);
enum fl_verdict verdict_row_verdict(const json_t *out);

/* in.malformed, which must not be null; or the error of a row of steer.json. */
enum fl_steer_error verdict_row_error(const json_t *row, const char *key);

/* in.memory or out.memory. */
/* The generation that removed memory.previous; 0: the row has none. */
fl_u32 verdict_row_removed(const json_t *in);

struct fl_bucket_memory verdict_row_memory(const json_t *in_or_out);

/* in.steer; bucket is replaced if the row has none. */
struct fl_steer verdict_row_steer(const json_t *in, fl_u16 service, fl_u32 bucket);

/*
 * Moves all times of a row by so many seconds, for a runner whose clock cannot show the row's own: the verdict looks at
 * their differences alone.
 */
void verdict_row_shift(const json_t *row, fl_u64 seconds);

#endif
