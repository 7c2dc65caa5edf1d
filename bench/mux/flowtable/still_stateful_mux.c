/* SPDX-License-Identifier: Apache-2.0 */
/* The static mux (mux/tests/still.h) with tables of flows (flowtable_mux.h), for bench/run mux. */
#include "flowtable_mux.h"
#include "still.h"

int main(int argc, char **argv)
{
	const struct mux_kind *kind = flowtable_mux(&argc, argv);

	return still_main(kind, argc, argv);
}
