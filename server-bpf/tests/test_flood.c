// SPDX-License-Identifier: Apache-2.0
#include "list_form_bpf.h"

int main(void)
{
	int failed;

	rig_open();
	failed = list_flood_run(&list_form_bpf);
	list_form_bpf_close();
	return failed;
}
