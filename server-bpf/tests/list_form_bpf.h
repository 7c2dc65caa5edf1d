/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIRLEAD_TESTS_LIST_FORM_BPF_H
#define FAIRLEAD_TESTS_LIST_FORM_BPF_H

#include "list_form.h"

/* The XDP program, of which the last few configurations stay loaded. */
extern const struct list_form list_form_bpf;

/* The XDP action of the packet that was sent last. */
int list_form_bpf_action(void);

/* The program of the present configuration. */
struct fl_server *list_form_bpf_program(void);

void list_form_bpf_close(void);

#endif
