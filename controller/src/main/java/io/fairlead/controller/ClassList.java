// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Runs short commands of fairleadctl in one JVM, against answers that it gives itself on loopback.
 * The classes that this loads are those that share-classes puts into the archive.
 */
final class ClassList {
  /** For services, backends and agents at once: each command takes what it knows. */
  private static final String ANSWER =
      "[{\"name\":\"web\",\"service\":\"web\",\"id\":1,\"backend\":1,\"vips\":[\"10.99.0.1\"],"
          + "\"ports\":[{\"protocol\":\"tcp\",\"port\":80}],\"buckets\":16384,\"backends\":1,"
          + "\"generation\":2,\"address\":\"10.1.0.21\",\"weight\":100,\"state\":\"active\","
          + "\"ageSeconds\":0.5,\"alive\":true,\"mux\":null}]";

  private static final String[][] COMMANDS = {
    {"--help"}, {"service", "list"}, {"backend", "list", "web"}, {"service", "list", "-o", "json"}
  };

  private ClassList() {}

  public static void main(String[] args) throws IOException {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread answers = new Thread(() -> answer(server));
      answers.setDaemon(true);
      answers.start();
      for (String[] command : COMMANDS) {
        int exit = run("http://127.0.0.1:" + server.getLocalPort(), command);
        if (exit != 0) {
          System.exit(exit);
        }
      }
    }
    System.exit(0);
  }

  private static int run(String api, String... command) {
    String[] words = new String[command.length + 2];
    System.arraycopy(command, 0, words, 0, command.length);
    words[command.length] = "--api";
    words[command.length + 1] = api;
    return CtlMain.commandLine(words).execute(words);
  }

  /** Until the server is closed; then this program ends. */
  private static void answer(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        BufferedReader request =
            new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.ISO_8859_1));
        while (!request.readLine().isEmpty()) {
          continue; // its head, which is all of a GET
        }
        String head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                .formatted(ANSWER.length());
        client.getOutputStream().write((head + ANSWER).getBytes(StandardCharsets.ISO_8859_1));
      } catch (IOException e) {
        if (!server.isClosed()) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }
}
