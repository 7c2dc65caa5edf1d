// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.resources.events;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fairlead.controller.cli.Api;
import io.fairlead.controller.cli.EventStream;
import io.fairlead.controller.cli.EventStream.Event;
import io.fairlead.controller.cli.Json;
import io.fairlead.controller.cli.Verb;
import java.util.Optional;
import java.util.StringJoiner;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "events",
    description = "Prints changes as they happen: services, drains, holds, muxes, the leader.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  fairleadctl events",
      "  fairleadctl events --follow",
      "  fairleadctl events --follow --after 0a1b2c3d-17",
      "  fairleadctl -o json events --follow | jq 'select(.type == \"mux\")'",
      "",
      "With -o json each event is a line with id, type and data. After a 'start'",
      "with 'resumed' false, events may be missing: read everything again."
    })
public final class EventsCommand extends Verb {
  private static final String PATH = "/v1/events";
  private static final long PAUSE_MILLIS = 500;
  private static final long PAUSE_MILLIS_MAX = 10_000;
  private static final int UNREACHABLE = 3;

  @Option(
      names = "--follow",
      description =
          "Reconnect when the connection ends, and continue after the last event. Default: exit")
  private boolean isFollowing;

  @Option(
      names = "--after",
      paramLabel = "ID",
      defaultValue = "",
      description = "Start after the event with this id. Default: start now")
  private String last;

  private boolean hasStarted;
  private long pause = PAUSE_MILLIS;

  @Override
  public Integer call() throws InterruptedException {
    if (!last.matches("([0-9a-f]{8}-[0-9]{1,15})?")) {
      throw usage("--after '%s' is refused; allowed: the id of an event".formatted(last));
    }
    Api api = api();
    while (true) {
      String why = "the controller has ended the stream";
      try {
        api.follow(PATH, last, this::print);
      } catch (Api.RefusedException e) {
        if (!isFollowing || !e.isForNow()) {
          throw e;
        }
        why = e.getMessage();
      } catch (Api.UnreachableException e) {
        if (!isFollowing || !hasStarted) {
          throw e;
        }
        why = e.getMessage();
      }
      err().println(why);
      if (!isFollowing) {
        return UNREACHABLE;
      }
      Thread.sleep(pause);
      pause = Math.min(2 * pause, PAUSE_MILLIS_MAX);
    }
  }

  private void print(EventStream stream) {
    for (Optional<Event> next = stream.next(); next.isPresent(); next = stream.next()) {
      print(next.get());
    }
  }

  private void print(Event event) {
    JsonNode data = json(event);
    boolean isStart = event.type().equals("start");
    if (isTable() && isStart) {
      if (!last.isEmpty() && !data.path("resumed").asBoolean()) {
        err().println("events in between may be missing");
      }
    } else if (isTable()) {
      out().println("%-10s %s".formatted(event.type(), words(data)));
    } else {
      ObjectNode line = Json.object().put("id", event.id()).put("type", event.type());
      out().println(line.set("data", data).toString());
    }
    out().flush();
    hasStarted = true;
    pause = PAUSE_MILLIS;
    last = event.id();
  }

  private static JsonNode json(Event event) {
    try {
      return Json.read(event.data());
    } catch (JsonProcessingException e) {
      throw new Api.RefusedException(
          "event %s has data '%s'; allowed: JSON".formatted(event.id(), event.data()));
    }
  }

  private static String words(JsonNode data) {
    StringJoiner words = new StringJoiner("  ");
    data.properties()
        .forEach(
            field ->
                words.add(
                    field.getKey()
                        + " "
                        + (field.getValue().isValueNode()
                            ? field.getValue().asText()
                            : field.getValue().toString())));
    return words.toString();
  }
}
