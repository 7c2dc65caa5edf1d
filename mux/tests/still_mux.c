/* SPDX-License-Identifier: Apache-2.0 */
/* The static mux (still.h) of kind c. */
#include "still.h"

int main(int argc, char **argv)
{
	static const struct mux_kind kind = {.name = "c"};

	return still_main(&kind, argc, argv);
}
