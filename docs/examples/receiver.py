"""Receives webhooks: checks that they are ours, answers at once, and does the work after that.

It needs Python 3.9 or later and nothing else:
  WEBHOOK_SECRET=whsec_... PORT=9000 python3 receiver.py
"""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
TOLERANCE_SECONDS = 300
MAX_BYTES = 65_536

# Deliveries that were handled. A real bot keeps them where they outlive a restart: its database.
handled = set()
newest = 0
turn = threading.Lock()


def why_refused(headers, body):
    """None for what is ours. The signature is over the bytes as they came: parse them after this, not before."""
    timestamp = headers.get("X-Service-Timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()):
        return "X-Service-Timestamp is missing or no number"
    away = abs(time.time() - int(timestamp))
    if away > TOLERANCE_SECONDS:
        return f"it was sent {away:.0f} s away from this clock, more than {TOLERANCE_SECONDS} s"
    expected = hmac.new(SECRET, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    # While the secret is rotated, the second header holds the signatures of the newer secrets.
    signatures = [headers.get("X-Service-Signature", ""), *headers.get("X-Service-Signature-Next", "").split(", ")]
    if any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in signatures):
        return None
    return "the signature does not fit WEBHOOK_SECRET: is it the secret of this subscription?"


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
        reason = why_refused(self.headers, body)
        # Answer first: whoever takes longer than 15 seconds is sent the same again.
        self.send_response(204 if reason is None else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if reason is None:
            handle(json.loads(body))
        else:
            print("refused:", reason, file=sys.stderr, flush=True)

    def log_message(self, *_):
        """The deliveries are printed; the requests need not be."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9000))), Receiver)
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
