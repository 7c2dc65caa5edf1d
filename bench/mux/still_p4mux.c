/* SPDX-License-Identifier: Apache-2.0 */
/* The static mux (mux/tests/still.h) of kind p4, for bench/run p4. */
#include "still.h"

#include "pipelines.h"

int main(int argc, char **argv)
{
	static const struct mux_kind kind = {.name = "p4", .open = pipelines_open, .close = pipelines_close};

	return still_main(&kind, argc, argv);
}
