// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;

/**
 * The web console: files of the jar, served to everyone, since they hold no data. Everything that
 * the page shows it reads from the API, under the token of its user.
 */
final class Console {
  private static final String FOLDER = "/io/fairlead/controller/console/";
  private static final String PATH = "/console/";
  private static final String INDEX = "index.html";

  /** Media types by file. What is not here is not served. */
  private static final Map<String, String> FILES =
      Map.of(
          INDEX,
          "text/html; charset=utf-8",
          "console.js",
          "text/javascript; charset=utf-8",
          "console.css",
          "text/css; charset=utf-8",
          "icon.svg",
          "image/svg+xml",
          "licences.txt",
          "text/plain; charset=utf-8");

  /**
   * The page runs its own script and style and talks to controllers, and nothing else. The second
   * part is for other controllers that it may ask when this one is gone.
   */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src"
          + " 'self'%s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private static final int NOT_MODIFIED = 304;

  /** Of the page: what its policy names stands here, too, so that it asks no one else. */
  private static final String NAMED = "<meta name=\"controllers\" content=\"";

  record File(String mediaType, Buffer plain, Buffer gzip, String tag) {
    static File of(String name, Buffer plain, Buffer gzip) {
      return new File(FILES.get(name), plain, gzip, EntityTags.of(plain));
    }
  }

  private final Map<String, File> byPath;
  private final Supplier<List<String>> others;
  private final String page;
  private List<String> named;
  private File pageOfNamed;

  private Console(Map<String, File> byPath, Supplier<List<String>> others, String page) {
    this.byPath = byPath;
    this.others = others;
    this.page = page;
  }

  /**
   * @param others origins of controllers that the page may ask, such as http://10.1.0.6:8080;
   *     called on the event loop
   */
  static Console load(Supplier<List<String>> others) {
    Map<String, File> byPath = new TreeMap<>();
    for (String name : FILES.keySet()) {
      if (!name.equals(INDEX)) {
        byPath.put(PATH + name, File.of(name, read(name), read(name + ".gz")));
      }
    }
    return new Console(Map.copyOf(byPath), others, read(INDEX).toString());
  }

  /** The page, which says whom its policy names. */
  File page(List<String> now) {
    if (!now.equals(named)) {
      named = now;
      String text = page.replace(NAMED, NAMED + String.join(" ", now));
      pageOfNamed = File.of(INDEX, Buffer.buffer(text), gzip(text));
    }
    return pageOfNamed;
  }

  private static Buffer gzip(String text) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(bytes.toByteArray());
  }

  private static Buffer read(String name) {
    try (InputStream in = Console.class.getResourceAsStream(FOLDER + name)) {
      if (in == null) {
        throw new IllegalStateException(
            "the jar lacks the console's %s: build it by mvn package".formatted(name));
      }
      return Buffer.buffer(in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(name + " of the console is not readable", e);
    }
  }

  /** Whether the request is for one of the console's files; if so it is answered. */
  boolean answers(HttpServerRequest request) {
    boolean isRead = request.method() == HttpMethod.GET || request.method() == HttpMethod.HEAD;
    boolean isPage = "/".equals(request.path());
    if (!isRead || request.path() == null || !isPage && !byPath.containsKey(request.path())) {
      return false;
    }
    List<String> now = named(others.get());
    File file = isPage ? page(now) : byPath.get(request.path());
    HttpServerResponse response =
        request
            .response()
            .putHeader("ETag", EntityTags.quote(file.tag))
            .putHeader(
                "Cache-Control", isVersioned(request) ? "max-age=31536000, immutable" : "no-cache")
            .putHeader("Vary", "Accept-Encoding")
            .putHeader(ProtectiveHeaders.POLICY, policy(now));
    if (request.isSSL()) {
      // Without TLS browsers report the header as an error.
      response.putHeader("Cross-Origin-Opener-Policy", "same-origin");
    }
    if (known(request, file)) {
      response.setStatusCode(NOT_MODIFIED).end();
      return true;
    }
    boolean isGzip =
        Optional.ofNullable(request.getHeader("Accept-Encoding")).orElse("").contains("gzip");
    Buffer body = isGzip ? file.gzip : file.plain;
    response.putHeader("Content-Type", file.mediaType);
    if (isGzip) {
      response.putHeader("Content-Encoding", "gzip");
    }
    if (request.method() == HttpMethod.HEAD) {
      response.putHeader("Content-Length", Integer.toString(body.length())).end();
    } else {
      response.end(body);
    }
    return true;
  }

  private static boolean known(HttpServerRequest request, File file) {
    String header = request.getHeader("If-None-Match");
    return header != null && EntityTags.matches(header, file.tag);
  }

  /** The page names its files with the hash of their content, so these never change. */
  private static boolean isVersioned(HttpServerRequest request) {
    return request.query() != null && request.query().startsWith("v=");
  }

  /**
   * Policies cannot name IPv6 literals, and browsers report an error for each one that tries to.
   */
  static List<String> named(List<String> others) {
    return others.stream().filter(origin -> !origin.contains("[")).sorted().toList();
  }

  private static String policy(List<String> named) {
    return POLICY.formatted(named.stream().map(" "::concat).collect(Collectors.joining()));
  }
}
