/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-mux. */
#include "threads/program.h"

int main(int argc, char **argv)
{
	static const struct mux_kind kind = {.name = "c", .program = "fairlead-mux", .about = ""};

	return program_main(&kind, argc, argv);
}
