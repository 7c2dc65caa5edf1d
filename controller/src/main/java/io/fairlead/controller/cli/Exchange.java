// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.cli;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * A request by HTTP/1.1 and its answer, on a connection of their own. Java's own client takes a
 * third of a second of the processor until it has sent its first request, and HttpURLConnection
 * knows no PATCH.
 */
final class Exchange implements AutoCloseable {
  private static final int CONNECT_MILLIS = 5000;
  private static final int HTTPS_PORT = 443;
  private static final int HTTP_PORT = 80;
  private static final int HEADERS_MAX = 256;
  private static final int INTERIM_MAX = 16;

  /** The commands' heap has four times as much. */
  private static final int TEXT_MAX = 128 << 20;

  private static final int FINAL = 200;
  private static final int NO_CONTENT = 204;
  private static final int NOT_MODIFIED = 304;

  private final Socket socket;
  private int status;
  private Map<String, String> headers = Map.of();
  private InputStream body = InputStream.nullInputStream();

  private Exchange(Socket socket) {
    this.socket = socket;
  }

  /**
   * Sends a request, and waits for the head of its answer.
   *
   * @param tls whom to trust; the system's authorities if empty. Only for https
   * @param silenceMillis how long nothing may come before reading ends with a
   *     SocketTimeoutException
   * @param headers by name
   * @param body with a Content-Type among the headers; empty: none
   */
  static Exchange of(
      URI target,
      Optional<SSLContext> tls,
      int silenceMillis,
      String method,
      Map<String, String> headers,
      String body)
      throws IOException {
    boolean isTls = "https".equals(target.getScheme());
    int defaultPort = isTls ? HTTPS_PORT : HTTP_PORT;
    String host = target.getHost();
    int port = target.getPort() < 0 ? defaultPort : target.getPort();
    Socket socket = connect(host, port);
    try {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(silenceMillis);
      Exchange exchange = new Exchange(isTls ? secured(socket, tls, host, port) : socket);
      exchange.send(head(target, method, headers, body), body);
      exchange.receive();
      return exchange;
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  int status() {
    return status;
  }

  /** Empty if the answer does not have it. */
  String header(String name) {
    return headers.getOrDefault(name.toLowerCase(Locale.ROOT), "");
  }

  InputStream body() {
    return body;
  }

  String text() throws IOException {
    return text(TEXT_MAX);
  }

  /**
   * @param most bytes that it may have
   */
  String text(int most) throws IOException {
    byte[] bytes = body.readNBytes(most + 1);
    if (bytes.length > most) {
      throw new IOException("the answer has more than %d bytes".formatted(most));
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** To the first of the host's addresses that takes the connection. */
  private static Socket connect(String host, int port) throws IOException {
    IOException failed = null;
    for (InetAddress address : InetAddress.getAllByName(host)) {
      Socket socket = new Socket(Proxy.NO_PROXY);
      try {
        socket.connect(new InetSocketAddress(address, port), CONNECT_MILLIS);
        return socket;
      } catch (IOException e) {
        socket.close();
        failed = e;
      }
    }
    throw failed;
  }

  private static Socket secured(Socket plain, Optional<SSLContext> tls, String host, int port)
      throws IOException {
    SSLSocketFactory factory =
        tls.isPresent()
            ? tls.get().getSocketFactory()
            : (SSLSocketFactory) SSLSocketFactory.getDefault();
    String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    SSLSocket socket = (SSLSocket) factory.createSocket(plain, name, port, true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    return socket;
  }

  private static String head(URI target, String method, Map<String, String> headers, String body) {
    String path = target.getRawPath().isEmpty() ? "/" : target.getRawPath();
    String query = target.getRawQuery() == null ? "" : "?" + target.getRawQuery();
    StringBuilder head = new StringBuilder();
    head.append(method).append(' ').append(path).append(query).append(" HTTP/1.1\r\n");
    line(head, "Host", target.getHost() + (target.getPort() < 0 ? "" : ":" + target.getPort()));
    line(head, "User-Agent", "fairleadctl");
    line(head, "Connection", "close");
    if (!"GET".equals(method)) {
      line(head, "Content-Length", Integer.toString(body.getBytes(StandardCharsets.UTF_8).length));
    }
    for (Map.Entry<String, String> header : headers.entrySet()) {
      line(head, header.getKey(), header.getValue());
    }
    return head.append("\r\n").toString();
  }

  private static void line(StringBuilder head, String name, String value) {
    for (int i = 0; i < value.length(); i++) {
      if (value.charAt(i) < ' ' || value.charAt(i) > '~') {
        throw new IllegalArgumentException(
            "%s has '%s'; allowed: visible characters".formatted(name, value));
      }
    }
    head.append(name).append(": ").append(value).append("\r\n");
  }

  private void send(String head, String text) throws IOException {
    OutputStream out = new BufferedOutputStream(socket.getOutputStream());
    out.write(head.getBytes(StandardCharsets.ISO_8859_1));
    out.write(text.getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  private void receive() throws IOException {
    InputStream in = new BufferedInputStream(socket.getInputStream());
    for (int heads = 0; status < FINAL; heads++) {
      if (heads == INTERIM_MAX) {
        throw new IOException("the answer has more than %d interim ones".formatted(INTERIM_MAX));
      }
      status = statusOf(Body.line(in));
      headers = headersOf(in);
    }
    String length = header("Content-Length");
    if (status == NO_CONTENT || status == NOT_MODIFIED) {
      body = InputStream.nullInputStream();
    } else if (header("Transfer-Encoding").equalsIgnoreCase("chunked")) {
      body = Body.chunked(in);
    } else if (length.isEmpty()) {
      body = Body.untilEnd(in);
    } else {
      body = Body.ofLength(in, lengthOf(length));
    }
  }

  private static int statusOf(String line) throws IOException {
    if (!line.matches("HTTP/1[.][0-9] [1-9][0-9]{2}( .*)?")) {
      throw new IOException("it does not answer by HTTP/1.1");
    }
    return Integer.parseInt(line.substring("HTTP/1.1 ".length(), "HTTP/1.1 200".length()));
  }

  private static long lengthOf(String value) throws IOException {
    if (!value.matches("[0-9]{1,18}")) {
      throw new IOException("the answer has the Content-Length '%s'".formatted(value));
    }
    return Long.parseLong(value);
  }

  private static Map<String, String> headersOf(InputStream in) throws IOException {
    Map<String, String> headers = new HashMap<>();
    for (String line = Body.line(in); !line.isEmpty(); line = Body.line(in)) {
      int colon = line.indexOf(':');
      if (colon < 0 || headers.size() == HEADERS_MAX) {
        throw new IOException("the answer has a head that is no HTTP/1.1");
      }
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
    }
    return headers;
  }
}
