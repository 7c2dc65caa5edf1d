// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Field;
import java.util.stream.Stream;
import picocli.CommandLine.Option;

/** The key that an option sets in a request; its value is the option's. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.FIELD)
public @interface SettingOption {
  /** A JSON pointer; empty: the name of the option's field. */
  String value() default "";

  /** The options of a verb, or of a mixin. */
  final class Of {
    private Of() {}

    /** As a user writes them, in the order of the source. */
    public static Stream<String> names(Class<?> mixin) {
      return fields(mixin).map(field -> field.getAnnotation(Option.class).names()[0]);
    }

    /** Adds the settings whose options were given. */
    public static ObjectNode put(Object mixin, ObjectNode request) {
      fields(mixin.getClass()).forEach(field -> put(mixin, field, request));
      return request;
    }

    private static Stream<Field> fields(Class<?> mixin) {
      return Stream.of(mixin.getDeclaredFields())
          .filter(field -> field.isAnnotationPresent(Option.class));
    }

    private static void put(Object mixin, Field field, ObjectNode request) {
      SettingOption setting = field.getAnnotation(SettingOption.class);
      Object value = value(mixin, field);
      if (setting == null || value == null) {
        return;
      }
      String pointer = setting.value().isEmpty() ? "/" + field.getName() : setting.value();
      int last = pointer.lastIndexOf('/');
      ObjectNode parent = last == 0 ? request : request.withObject(pointer.substring(0, last));
      parent.putPOJO(pointer.substring(last + 1), value);
    }

    private static Object value(Object mixin, Field field) {
      try {
        field.setAccessible(true);
        return field.get(mixin);
      } catch (IllegalAccessException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
