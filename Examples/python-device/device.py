#!/usr/bin/python3
"""A device for a Ringwake gateway: Documentation/link.md with paho, for one app. README.md shows how to use it."""

import argparse
import functools
import json
import random
import sqlite3
import ssl
import sys
import time
from urllib.parse import parse_qsl, urlsplit

import paho.mqtt.client as mqtt
from folder import Folder, pin
from paho.mqtt.properties import PacketTypes, Properties

say = functools.partial(print, file=sys.stderr, flush=True)


def boot_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def user(properties):
    return dict(getattr(properties, "UserProperty", []))


class Link:
    def __init__(self, folder):
        self.folder, self.state = folder, folder.state
        self.failures, self.takeovers = 0, 0

    def pair(self, code, name):
        self.hold({"op": "pair", "code": code, "name": name} | self.folder.sealing_key(), pair=1)
        return self.accepted

    def run(self):
        while True:
            known = {name: self.state[name] for name in ("revision", "epoch") if name in self.state}
            self.hold(None, slots=len(self.state["registrations"]), **known)
            self.failures += 1
            limit = int(self.answer.get("retry-after", min(900, 2**self.failures)))
            if self.code in (0x87, 0x98):
                say("the gateway doesn't know this device, or has revoked it: pair it again")
            self.takeovers = self.takeovers + 1 if self.code == 0x8E else 0
            if self.takeovers == 3:
                sys.exit("another machine has this device's key: stopped")
            time.sleep({0x87: 86400, 0x98: 86400, 0x8E: 15, 0x9F: limit}.get(self.code, limit * random.random()))

    def hold(self, pairing, **about):
        """One connection, to its end. Each has a new client: paho would send again what the former one left."""
        self.code, self.answer, self.accepted, self.pairing = None, {}, False, pairing
        wanted = None if "ca" in self.state else self.state.get("pin")
        context = ssl.create_default_context(cadata=self.state.get("ca"))
        if wanted:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.folder.key_file)
        context.set_alpn_protocols(["mqtt"])
        client, properties = mqtt.Client(self.folder.device, protocol=mqtt.MQTTv5), Properties(PacketTypes.CONNECT)
        client.tls_set_context(context)
        client.on_connect, client.on_subscribe, client.on_publish = self.on_connect, self.on_subscribe, self.on_publish
        client.on_message, client.on_disconnect = self.on_message, self.on_disconnect
        properties.UserProperty = [("version", "python-device")] + [(name, str(value)) for name, value in about.items()]
        host, port = self.state["gateway"].rsplit(":", 1)
        try:
            # Only a limit for the handshake: the gateway answers with 0, which paho ignores.
            client.connect(host.strip("[]"), int(port), keepalive=10, clean_start=True, properties=properties)
            client._keepalive = 0
            with client.socket() as connection:
                # No secret was sent yet, and nothing that came was read.
                if wanted and pin(connection.getpeercert(True)) != wanted:
                    raise ssl.SSLError("the gateway's key isn't the link's pin; if the pin is a CA's, give --ca")
                # No keep-alive and no timer: it sleeps until something comes.
                while client.loop(1e9) == mqtt.MQTT_ERR_SUCCESS:
                    pass
        except (OSError, sqlite3.Error) as error:  # A push that isn't on the disk was not acknowledged.
            say(error)

    def on_connect(self, client, _, flags, reason, properties):
        self.code, self.answer = reason.value, user(properties)
        if self.code:
            return say("refused:", reason, getattr(properties, "ReasonString", ""))
        self.ahead, self.failures = int(self.answer["now"]) - boot_ms(), 0
        if self.pairing:
            return self.publish(client, self.pairing)
        self.folder.save(epoch=self.answer["epoch"])
        client.subscribe(f"ringwake/1/d/{self.folder.device}", qos=1)

    def on_subscribe(self, client, *_):
        gateways = int(self.answer.get("revision", -1))
        if gateways == self.state["revision"]:
            return say("linked")
        self.publish_registrations(client, max(gateways + 1, self.state["revision"]))  # The folder may be an old copy.

    def publish_registrations(self, client, revision):
        self.folder.save(revision=revision)
        self.publish(client, {"op": "registrations"} | {key: self.state[key] for key in ("revision", "registrations")})

    def publish(self, client, message):
        client.publish(f"ringwake/1/u/{self.folder.device}", json.dumps(message), qos=1)

    def on_publish(self, client, _, mid):
        # paho has no other way to tell what the PUBACK said.
        packet, properties = bytes(client._in_packet["packet"]), Properties(PacketTypes.PUBACK)
        self.accepted = len(packet) < 3 or packet[2] < 0x80
        if len(packet) > 3:
            properties.unpack(packet[3:])
        say("accepted" if self.accepted else f"refused: {getattr(properties, 'ReasonString', packet[2:])}")

    def on_message(self, client, _, message):
        """paho sends PUBACK when this has returned."""
        push, payload = user(message.properties), message.payload
        if push["slot"] not in [one["slot"] for one in self.state["registrations"]]:
            # paho can't send 0x90; but a newer set without the slot ends its token.
            say("unknown slot:", push["slot"])
            return self.publish_registrations(client, self.state["revision"] + 1)
        if getattr(message.properties, "ContentType", "") == "application/vnd.ringwake.sealed":
            payload = self.folder.unseal(push, payload)
            if payload is None:
                return say("can't be read:", push)  # The gateway drops it, as with 0x99.
        age = max(0, boot_ms() + self.ahead - int(push["arrived"]))  # CONNACK took a while to come.
        if self.folder.add(push, payload):
            print(json.dumps(push | {"age": age, "payload": payload.decode(errors="replace")}), flush=True)

    def on_disconnect(self, client, _, reason, properties):
        if isinstance(reason, mqtt.ReasonCodes):
            self.code, self.answer = reason.value, user(properties)
        say("link ended:", reason)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("command", choices=["pair", "token", "run"])
parser.add_argument("code", nargs="?", default="")
for option in ("--folder", "--gateway", "--ca", "--name", "--app", "--environment"):
    parser.add_argument(option, required=option == "--folder")
options = parser.parse_args()
link, ca = urlsplit(options.code), options.ca and open(options.ca).read()
invited = dict(parse_qsl(link.query))
given = {"gateway": link.netloc or options.gateway, "ca": ca, "pin": invited.get("pin")}
folder = Folder(options.folder)
folder.save(**{name: value for name, value in given.items() if value})
if options.command == "pair":
    sys.exit(not Link(folder).pair(invited.get("code", options.code), options.name))
elif options.command == "token":
    print(folder.make_token(options.app, options.environment))
else:
    Link(folder).run()
