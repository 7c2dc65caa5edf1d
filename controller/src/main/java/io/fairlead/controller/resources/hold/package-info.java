// SPDX-License-Identifier: Apache-2.0
/** Connections that outlive the window: which buckets are held, and when they are released. */
package io.fairlead.controller.resources.hold;
