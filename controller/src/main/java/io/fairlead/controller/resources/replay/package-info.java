// SPDX-License-Identifier: Apache-2.0
/** What a change would do to recorded connections. */
package io.fairlead.controller.resources.replay;
