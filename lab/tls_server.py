# SPDX-License-Identifier: Apache-2.0
"""Answers each request over TLS with the word "secret", and refuses handshakes that ask for another name.

python3 -m lab.tls_server PORT NAME KEY CERTIFICATE ADDRESS...
"""

import contextlib
import socket
import ssl
import sys
import threading

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret"
PATIENCE_SECONDS = 5.0


def context_for(name: str, key: str, certificate: str) -> ssl.SSLContext:
    def choose(_socket: ssl.SSLObject, asked: str | None, _context: ssl.SSLContext) -> int | None:
        return None if asked == name else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.sni_callback = choose
    return context


def answer(connection: socket.socket, context: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError), connection:
        connection.settimeout(PATIENCE_SECONDS)
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(4096)
            secured.sendall(ANSWER)


def serve(address: str, port: int, context: ssl.SSLContext) -> None:
    with socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection, context), daemon=True).start()


def main() -> None:
    port, name, key, certificate, *addresses = sys.argv[1:]
    context = context_for(name, key, certificate)
    threads = [threading.Thread(target=serve, args=(each, int(port), context)) for each in addresses]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
