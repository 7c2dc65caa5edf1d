// SPDX-License-Identifier: Apache-2.0
/** The REST API without its resources: server, contract, access, retries, entity tags and pages. */
package io.fairlead.controller.http;
