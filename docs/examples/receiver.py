"""Receives webhooks: checks that they are ours, answers at once, and does the work after that.

It needs Python 3.9 or later and the client, signal_client.py, beside it or in clients/python:
  WEBHOOK_SECRET=whsec_... PORT=9000 python3 receiver.py
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
from signal_client import WebhookInvalid, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
MAX_BYTES = 65_536

# Deliveries that were handled. A real bot keeps them where they outlive a restart: its database.
handled = set()
newest = 0
turn = threading.Lock()


def handle(webhook):
    global newest
    if webhook.get("test"):
        # A sample that was asked for, to see whether it arrives.
        print("test", webhook["event"], flush=True)
        return
    with turn:
        # The same delivery may come twice: after a lost answer, or because you asked for it again.
        if webhook["delivery_id"] in handled:
            return
        handled.add(webhook["delivery_id"])
        sequence = webhook.get("sequence")
        if sequence is not None:
            # Deliveries may overtake one another, so a hole is worth a look only when it stays: then pull what was missed.
            if 0 < newest < sequence - 1:
                print(f"hole: {newest + 1} to {sequence - 1}", flush=True)
            newest = max(newest, sequence)
        # This is where a bot would act. What it gets is information, not advice: decide what you risk yourself.
        print(sequence or "-", webhook["event"], json.dumps(webhook["data"]), flush=True)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if 0 <= length <= MAX_BYTES else b""
        try:
            # The signature is over the bytes as they came: they are parsed after it was checked, not before.
            webhook, status = verify_webhook(SECRET, self.headers, body), 204
        except WebhookInvalid as error:
            print("refused:", error, file=sys.stderr, flush=True)
            webhook, status = None, 401
        # Answer first: whoever takes longer than 15 seconds is sent the same again.
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if webhook is not None:
            handle(webhook)

    def log_message(self, *_):
        """The deliveries are printed; the requests need not be."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
