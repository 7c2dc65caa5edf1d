// SPDX-License-Identifier: Apache-2.0
/** The whole cluster in one answer, for those who look at it. */
package io.fairlead.controller.resources.overview;
