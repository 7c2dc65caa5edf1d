// SPDX-License-Identifier: Apache-2.0
/** One file with all that a report of a defect needs, and no secret. */
package io.fairlead.controller.cli.support;
