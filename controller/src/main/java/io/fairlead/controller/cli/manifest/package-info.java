// SPDX-License-Identifier: Apache-2.0
/** Services in a YAML file: the verbs apply, diff and export. */
package io.fairlead.controller.cli.manifest;
