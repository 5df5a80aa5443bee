"""A stranger without credentials: `stranger.py PORT` begins three pushes, never ends them, and says when they have begun."""

import socket
import ssl
import sys
import time

import h2.config
import h2.connection

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["h2"])
fields = [(":method", "POST"), (":scheme", "https"), (":path", "/3/device/" + "0" * 64), (":authority", "x")]
kept = []
for _ in range(3):
    stream = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.send_headers(1, fields)
    connection.send_data(1, b"{")
    stream.sendall(connection.data_to_send())
    # The daemon's SETTINGS: it has read ours.
    stream.recv(4096)
    kept.append(stream)
print("ready", flush=True)
time.sleep(60)
