// SPDX-License-Identifier: Apache-2.0
/** What probes find of backends, and which backends are taken out of service for it. */
package io.fairlead.controller.resources.probes;
