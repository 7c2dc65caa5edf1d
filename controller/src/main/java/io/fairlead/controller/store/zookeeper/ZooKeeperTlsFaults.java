// SPDX-License-Identifier: Apache-2.0
package io.fairlead.controller.store.zookeeper;

import io.fairlead.controller.store.DaemonThreads;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.client.ConnectStringParser;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says why a client with TLS has no connection. ZooKeeper's own client only tries again, so a
 * handshake with each server is made beside it, and what is wrong is logged when it changes.
 */
final class ZooKeeperTlsFaults {
  private static final Logger LOG = LoggerFactory.getLogger(ZooKeeperTlsFaults.class);
  private static final long LOOK_MILLIS = 2000;
  private static final int CONNECT_MILLIS = 1000;

  /** For the handshake. */
  private static final int ANSWER_MILLIS = 2000;

  /** A server refuses a client's certificate after the client has ended its part (TLS 1.3). */
  private static final int ALERT_MILLIS = 500;

  private final List<InetSocketAddress> servers;
  private final ZooKeeperTls tls;

  ZooKeeperTlsFaults(String connectString, ZooKeeperTls tls) {
    servers = new ConnectStringParser(connectString).getServerAddresses();
    this.tls = tls;
  }

  /** Until the client is closed. */
  void watch(CuratorFramework client) {
    DaemonThreads.named("zookeeper-tls").newThread(() -> look(client)).start();
  }

  private void look(CuratorFramework client) {
    List<String> last = List.of();
    try {
      while (true) {
        Thread.sleep(LOOK_MILLIS);
        if (client.getState() == CuratorFrameworkState.STOPPED) {
          return;
        }
        if (client.getState() == CuratorFrameworkState.LATENT
            || client.getZookeeperClient().isConnected()) {
          last = List.of();
          continue;
        }
        List<String> faults = faults();
        if (!faults.equals(last)) {
          faults.forEach(LOG::warn);
          last = faults;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A sentence for each server with which TLS fails, none if it works with all. */
  List<String> faults() {
    List<String> faults = new ArrayList<>();
    for (InetSocketAddress server : servers) {
      fault(server)
          .ifPresent(
              why ->
                  faults.add(
                      "ZooKeeper %s:%d by TLS: %s"
                          .formatted(server.getHostString(), server.getPort(), why)));
    }
    return faults;
  }

  private Optional<String> fault(InetSocketAddress server) {
    String host = server.getHostString();
    try (Socket plain = new Socket()) {
      plain.connect(new InetSocketAddress(host, server.getPort()), CONNECT_MILLIS);
      plain.setSoTimeout(ANSWER_MILLIS);
      SSLSocket socket =
          (SSLSocket)
              tls.context().getSocketFactory().createSocket(plain, host, server.getPort(), true);
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      return refusal(socket);
    } catch (UnknownHostException e) {
      return Optional.of("unknown host");
    } catch (ConnectException e) {
      return Optional.of("connection refused, or no route");
    } catch (SocketTimeoutException e) {
      return Optional.of("no answer within %d ms".formatted(ANSWER_MILLIS));
    } catch (SSLException e) {
      return Optional.of(why(host, e));
    } catch (SocketException e) {
      return Optional.of(brokenOff(e));
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      return Optional.of(ZooKeeperTls.root(e));
    }
  }

  private Optional<String> refusal(SSLSocket socket) throws IOException {
    socket.setSoTimeout(ALERT_MILLIS);
    try {
      return socket.getInputStream().read() < 0
          ? Optional.of(brokenOff(new SocketException("end of stream")))
          : Optional.empty();
    } catch (SocketTimeoutException e) {
      return Optional.empty();
    }
  }

  private String why(String host, SSLException e) {
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof CertificateExpiredException
          || cause instanceof CertificateNotYetValidException) {
        return "its certificate is not valid now: " + cause.getMessage();
      }
      if (cause instanceof CertPathBuilderException) {
        return "its certificate is not signed by an authority of --zookeeper-tls-ca '%s'"
            .formatted(tls.authorities());
      }
      if (cause instanceof CertificateException && cause.getCause() == null) {
        return "its certificate does not name '%s': %s".formatted(host, cause.getMessage());
      }
      if (cause instanceof SocketException broken) {
        return brokenOff(broken);
      }
    }
    String message = e.getMessage();
    if (message != null && message.startsWith("Received fatal alert")) {
      return "it refuses this controller, whose certificate is %s: %s".formatted(own(), message);
    }
    return message + "; is it the port for TLS (secureClientPort)?";
  }

  /** The alert that says why may be lost if the client is still writing. */
  private String brokenOff(SocketException e) {
    return "it breaks the handshake off (%s); does it refuse this controller, whose certificate is %s?"
        .formatted(e.getMessage(), own());
  }

  private String own() {
    return tls.identity()
        .map(file -> "of --zookeeper-tls-identity '%s'".formatted(file.path()))
        .orElse("missing (--zookeeper-tls-identity)");
  }
}
