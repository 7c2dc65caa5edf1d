// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.audit;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.fairlead.controller.store.AuditEntry;

/** An audit record as the API shows it. */
record AuditView(
    long number, @JsonUnwrapped @JsonIgnoreProperties({"format", "key"}) AuditEntry entry) {}
