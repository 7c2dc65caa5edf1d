// SPDX-License-Identifier: Apache-2.0
/** Who calls, and what it may do. */
package io.fairlead.controller.resources.whoami;
