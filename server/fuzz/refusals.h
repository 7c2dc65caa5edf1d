/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers of one program share: a property that must hold, and refusals, which are counted and not printed. */
#ifndef FAIRLEAD_FUZZ_REFUSALS_H
#define FAIRLEAD_FUZZ_REFUSALS_H

#include <errno.h>
#include <stddef.h>

#include <fairlead/types.h>

#include "../refusal.h"

int LLVMFuzzerTestOneInput(const fl_u8 *data, size_t size);

static unsigned refusals; /* since the fuzzer set it to 0 */

static void require(bool property)
{
	if (!property)
		__builtin_trap();
}

/* In place of refusal.c. */
int refusal_print(const char *field, const char *value, const char *allowed)
{
	require(*field && value && *allowed);
	refusals++;
	return -EINVAL;
}

#endif
