/* SPDX-License-Identifier: Apache-2.0 */
/* The mux with tables of flows (flowtable_mux.h), in labs. */
#include "flowtable_mux.h"

int main(int argc, char **argv)
{
	const struct mux_kind *kind = flowtable_mux(&argc, argv);

	return program_main(kind, argc, argv);
}
