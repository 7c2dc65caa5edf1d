/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands for the kernel module (--form module), which serves a whole network namespace. Each returns 0, or a
 * negative errno and a printed sentence; then nothing has changed.
 */
#ifndef FAIRLEAD_MODULE_FORM_H
#define FAIRLEAD_MODULE_FORM_H

#include "config.h"
#include "document.h"

int module_form_attach(const struct config *config);
int module_form_detach(void);

/* Prints the same document as of a program; its interface is null. */
int module_form_show(enum document_format format);

#endif
