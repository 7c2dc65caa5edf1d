// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A record {@code R} whose builder {@code RBuilder} is generated: a setter for each field, and for
 * an optional one also a setter that takes its value. A record that implements {@code
 * RBuilder.With} also has a {@code with} method for each field.
 */
@RecordBuilder.Template(
    options =
        @RecordBuilder.Options(
            addConcreteSettersForOptional = true,
            enableGetters = false,
            addStaticBuilder = false,
            inheritComponentAnnotations = false))
@Retention(RetentionPolicy.SOURCE)
@Target(ElementType.TYPE)
@Inherited
public @interface Built {}
