"""Receivers of notifications on loopback: a webhook and a mail server, each on a thread of its own. Standard library only."""
import base64
import http.server
import json
import socketserver
import threading


class Receiver:
    """A server on a free port, from the beginning to the end of a 'with'."""

    def __init__(self, server, handler):
        self.server = server(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Webhook(Receiver):
    """Keeps what it gets. 'statuses': those of the first answers; the others are 200."""

    def __init__(self, statuses=()):
        self.statuses = list(statuses)
        self.calls = []  # Path, headers, JSON.
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = hook.statuses.pop(0) if hook.statuses else 200
                hook.calls.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(http.server.ThreadingHTTPServer, Handler)
        self.url = f"http://127.0.0.1:{self.port}/hook"

    def events(self, job):
        return [call[2] for call in self.calls if call[2].get("job") == job]


class MailServer(Receiver):
    """Keeps the messages it gets, each with its envelope. With 'password' it wants AUTH PLAIN of the user 'me'. 'refuses': receivers that it
    does not know. While 'answers' is not set it answers no message."""

    def __init__(self, password="", refuses=()):
        self.messages = []  # Sender, receivers, text.
        self.answers = threading.Event()
        self.answers.set()
        self.wrong_logins = 0
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 here")
                sender, receivers, is_known = "", [], not password
                while line := self.rfile.readline().rstrip(b"\r\n").decode():
                    verb = line.split(" ")[0].upper()
                    if verb == "EHLO":
                        self.say("250-here")
                        self.say("250 AUTH PLAIN")
                    elif verb == "AUTH":
                        words = line.split(" ")
                        if len(words) < 3:
                            self.say("334 ")
                            words.append(self.rfile.readline().strip().decode())
                        is_known = base64.b64decode(words[2]) == f"\0me\0{password}".encode()
                        server.wrong_logins += not is_known
                        self.say("235 ok" if is_known else "535 wrong")
                    elif not is_known:
                        self.say("530 log in first")
                    elif verb == "MAIL":
                        sender, receivers = line.split("<")[1].split(">")[0], []
                        self.say("250 ok")
                    elif verb == "RCPT":
                        receiver = line.split("<")[1].split(">")[0]
                        receivers.append(receiver)
                        self.say("550 no such user" if receiver in refuses else "250 ok")
                    elif verb == "DATA":
                        self.say("354 go on")
                        text = b""
                        while (part := self.rfile.readline()) not in (b".\r\n", b""):
                            text += part[1:] if part.startswith(b".") else part
                        server.messages.append((sender, receivers, text))
                        server.answers.wait()
                        self.say("250 ok")
                    elif verb == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("502 no")

        super().__init__(socketserver.ThreadingTCPServer, Handler)
        self.url = f"smtp://127.0.0.1:{self.port}"
