// SPDX-License-Identifier: Apache-2.0
/** What agents on servers report of their connections (protocol/README.md §11): soft state. */
package io.fairlead.controller.resources.agents;
