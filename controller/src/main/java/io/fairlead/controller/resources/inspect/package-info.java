// SPDX-License-Identifier: Apache-2.0
/** What single muxes say of themselves: read from each by the controller, for those who may ask. */
package io.fairlead.controller.resources.inspect;
