/* SPDX-License-Identifier: Apache-2.0 */
#include "threads/privilege.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

void privilege_drop(const char *name)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	struct __user_cap_data_struct *word = &data[CAP_TO_INDEX(CAP_SYS_ADMIN)];
	const unsigned bit = CAP_TO_MASK(CAP_SYS_ADMIN);

	if (!syscall(SYS_capget, &header, data)) {
		word->effective &= ~bit;
		word->permitted &= ~bit;
		word->inheritable &= ~bit; /* and with it the ambient set */
		if (!syscall(SYS_capset, &header, data))
			return;
	}
	fprintf(stderr, "mux event=privilege_kept thread=\"%s\" why=\"%s\"\n", name, strerror(errno));
}
