// SPDX-License-Identifier: Apache-2.0
/** The records of past writes. */
package io.fairlead.controller.resources.audit;
