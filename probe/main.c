/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead-probe: health checks along the data path. */
#include <stdio.h>

#include "loop.h"

extern char **environ;

int main(int argc, char **argv)
{
	static struct probe_options options;
	struct reason why = {""};

	if (probe_options_parse(&options, argc - 1, argv + 1, environ, &why)) {
		fprintf(stderr, "fairlead-probe: %s\n", why.text);
		return 2;
	}
	if (options.help) {
		fputs(probe_usage, stdout);
		return 0;
	}
	if (options.version) {
		puts("fairlead-probe " FAIRLEAD_VERSION);
		return 0;
	}
	if (loop_run(&options, &why)) {
		fprintf(stderr, "fairlead-probe: %s\n", why.text);
		return 1;
	}
	return 0;
}
