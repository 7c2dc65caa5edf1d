// SPDX-License-Identifier: Apache-2.0
/* The XDP program decides as decide.json says: list_decide.c. */
#include "list_form_bpf.h"

int main(int argc, char **argv)
{
	int failed;

	rig_open();
	failed = list_decide_run(&list_form_bpf, argc > 1 ? argv[1] : ".");
	list_form_bpf_close();
	return failed;
}
