/* SPDX-License-Identifier: Apache-2.0 */
/* What the C of mux.spec takes a pipeline to have, in the order of its numbers; each list ends with NULL (translate.py). */
#ifndef FAIRLEAD_P4_COMPILED_RUN_NAMES_H
#define FAIRLEAD_P4_COMPILED_RUN_NAMES_H

#include <stdint.h>

struct run_register {
	const char *name;
	uint32_t entries;
};

extern const struct run_register run_registers[];
extern const char *const run_tables[];
extern const char *const run_actions[];

#endif
