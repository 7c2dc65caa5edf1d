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

int steering_start(struct steering_states *states, unsigned worker, const struct options *options, struct reason *why)
{
	*states = (struct steering_states){{NULL}};
	for (unsigned i = 0; steerings[i]; i++) {
		int error = steerings[i]->start ? steerings[i]->start(&states->state[i], worker, options, why) : 0;

		if (!error)
			continue;
		steering_stop(states);
		return error;
	}
	return 0;
}

void steering_stop(struct steering_states *states)
{
	for (unsigned i = 0; steerings[i]; i++)
		if (steerings[i]->stop)
			steerings[i]->stop(states->state[i]);
}
