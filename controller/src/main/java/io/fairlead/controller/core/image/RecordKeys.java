// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.core.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The keys that the JSON of a record may lack: of optional values, and of those that say so. */
public final class RecordKeys {
  private RecordKeys() {}

  /** In the order of the record. */
  public static List<String> optional(Class<? extends Record> record) {
    return components(record).map(RecordComponent::getName).toList();
  }

  /** Adds missing keys to JSON of {@code record}, also to the JSON of records in it. */
  public static void complete(ObjectNode json, Class<?> record) {
    components(record)
        .forEach(component -> json.putIfAbsent(component.getName(), absent(component.getType())));
    for (RecordComponent component : record.getRecordComponents()) {
      Class<?> type = value(component);
      if (type.isRecord() && json.get(component.getName()) instanceof ObjectNode inner) {
        complete(inner, type);
      }
    }
  }

  private static JsonNode absent(Class<?> type) {
    if (!type.isPrimitive()) {
      return NullNode.getInstance();
    }
    return type == boolean.class ? BooleanNode.FALSE : IntNode.valueOf(0);
  }

  private static Stream<RecordComponent> components(Class<?> record) {
    return Stream.of(record.getRecordComponents())
        .filter(
            component ->
                component.getType() == Optional.class
                    || component.getAccessor().isAnnotationPresent(JsonInclude.class));
  }

  /** The component's type, or that of the value of an {@code Optional}. */
  private static Class<?> value(RecordComponent component) {
    return component.getGenericType() instanceof ParameterizedType type
            && component.getType() == Optional.class
        ? (Class<?>) type.getActualTypeArguments()[0]
        : component.getType();
  }
}
