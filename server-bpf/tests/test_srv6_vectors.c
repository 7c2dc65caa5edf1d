// SPDX-License-Identifier: Apache-2.0
/* The XDP program reads and sends on segment lists as list-srv6.json says: list_srv6.c. */
#include "list_form_bpf.h"

int main(int argc, char **argv)
{
	int failed;

	rig_open();
	failed = list_srv6_run(&list_form_bpf, argc > 1 ? argv[1] : ".");
	list_form_bpf_close();
	return failed;
}
