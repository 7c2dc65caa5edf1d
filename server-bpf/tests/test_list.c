// SPDX-License-Identifier: Apache-2.0
#include "list_form_bpf.h"

int main(int argc, char **argv)
{
	int failed;

	rig_open();
	failed = list_vectors_run(&list_form_bpf, argc > 1 ? argv[1] : ".");
	list_form_bpf_close();
	return failed;
}
