// SPDX-License-Identifier: Apache-2.0
/** Which backend owns which buckets, and where one connection goes. */
package io.fairlead.controller.resources.explain;
