// SPDX-License-Identifier: Apache-2.0
/** fairleadctl without its verbs: the client of the API, tables and the base classes of verbs. */
package io.fairlead.controller.cli;
