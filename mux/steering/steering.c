/* SPDX-License-Identifier: Apache-2.0 */
#include "steering/steering.h"

#include <stddef.h>

#include "steering/methods.h"

#define METHOD_DECLARATION(name) extern const struct steering steering_##name;
#define METHOD_ENTRY(name)       &steering_##name,

STEERING_METHODS(METHOD_DECLARATION)

const struct steering *const steerings[STEERINGS_MAX + 1] = {STEERING_METHODS(METHOD_ENTRY)};

unsigned steering_number(const struct steering *steering)
{
	unsigned number = 0;

	while (steerings[number] != steering)
		number++;
	return number;
}
