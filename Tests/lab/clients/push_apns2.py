"""Pushes with PyAPNs2 0.7.2, one after the other on one connection, then one that is refused.

python push_apns2.py HOST PORT CA KEY KEY-ID TEAM TOPIC TOKEN COUNT
Prints a line for each answer. It cannot set apns-id. Its HTTP/2 client, hyper, was last changed in 2016.
"""

import collections
import collections.abc
import sys

# hyper uses these names, which Python 3.10 took away.
for name in ("Iterable", "Mapping", "MutableMapping", "MutableSet", "Sequence"):
    setattr(collections, name, getattr(collections.abc, name))

from apns2.client import APNsClient  # noqa: E402
from apns2.credentials import TokenCredentials  # noqa: E402
from apns2.errors import BadDeviceToken  # noqa: E402
from apns2.payload import Payload  # noqa: E402
from hyper.tls import init_context  # noqa: E402

host, port, ca, key, key_id, team, topic, token, count = sys.argv[1:]
credentials = TokenCredentials(key, key_id, team)
# Its constructor takes no CA.
credentials._Credentials__ssl_context = init_context(cert_path=ca)
client = type("Client", (APNsClient,), {"LIVE_SERVER": host, "DEFAULT_PORT": int(port)})(credentials)
for number in range(int(count)):
    client.send_notification(token, Payload(custom={"n": number}), topic)
    print("accepted", flush=True)
try:
    client.send_notification("ab" * 32, Payload(), topic)
except BadDeviceToken:
    print("BadDeviceToken")
