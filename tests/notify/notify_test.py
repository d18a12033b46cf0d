#!/usr/bin/env python3
"""rondod tells people of runs of jobs, over real sockets on loopback: by webhook, by mail and by a command of a worker. Receivers that
fail, that are away, or that are outside of the allowed networks; and that secrets are not shown.
Usage: notify_test.py RONDO RONDOD [CASE ...]."""
import email
import email.policy
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "command_line"))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "executors"))
from executor_kit import PATIENCE, poll, run_cases  # noqa: E402
from receivers import MailServer, Webhook  # noqa: E402
from rondod_process import Rondod  # noqa: E402

SECRET = "a-secret-that-nobody-prints"


class Notifying(Rondod):
    """A rondod with these sections [[notify]], each a list of lines. {secret} is a file with SECRET."""

    def __init__(self, rondo, rondod, *sections):
        self.secret = f"/tmp/rondo-notify-{os.getpid()}-{id(self)}"
        with open(self.secret, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")
        text = "".join("[[notify]]\n" + "\n".join(lines).replace("{secret}", self.secret) + "\n" for lines in sections)
        super().__init__(rondod, rondo, store=text, plane="none", jobs=True)

    def __exit__(self, kind, *rest):
        if kind is not None:
            print("the end of rondod's log:\n" + self.read_log()[-4000:], file=sys.stderr)
        os.unlink(self.secret)
        super().__exit__(kind, *rest)

    def read_log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
            return log.read()

    def ask(self, *words, code=0):
        said = self.run("--json", *words)
        assert said.returncode == code, (words, said)
        return json.loads(said.stdout)

    def add_failing(self, name):
        """A job that fails until it is mended."""
        self.ask("job", "add", name, "--handler", "nothing", "--manual", "--retries", "1", "--backoff", "10ms")

    def trigger(self, name, *options):
        run = self.ask("job", "trigger", name, *options)["run"]
        return poll(f"the end of run {run}", lambda: next(row for row in self.ask("job", "runs", name)["rows"] if row["run"] == run)["ended"] and run)

    def mend(self, name):
        self.ask("job", "edit", name, "--handler", "log")

    def figures(self):
        return self.ask("stats")["notify"]


def hook_lines(hook, name="hook", *more):
    return [f'name = "{name}"', f'target = "{hook.url}"', *more]


def a_failure_and_a_recovery_reach_a_webhook(rondo, rondod):
    with Webhook() as hook, Notifying(rondo, rondod, hook_lines(hook, "hook", 'secret_file = "{secret}"', 'jobs = "a*"')) as daemon:
        for name in ("alpha", "beta"):
            daemon.add_failing(name)
            failed = daemon.trigger(name)
        daemon.mend("alpha")
        run = daemon.trigger("alpha")
        failure, recovery = poll("both events", lambda: len(hook.calls) >= 2 and hook.events("alpha"))
        assert (failure["event"], failure["run"], failure["state"], failure["attempts"]) == ("failure", failed - 1, "failed", 0), failure
        assert "no handler 'nothing'" in failure["note"] and failure["failures"] == 1 and failure["host"], failure
        assert (recovery["event"], recovery["run"], recovery["state"], recovery["failures"]) == ("recovery", run, "succeeded", 1), recovery
        path, headers, _ = hook.calls[0]
        assert path == "/hook" and headers["Authorization"] == f"Bearer {SECRET}" and headers["Content-Type"] == "application/json", headers
        poll("the figures", lambda: daemon.figures() == {"sent": 2, "given_up": 0, "dropped": 0, "waiting": 0})
        assert len(hook.calls) == 2, "of beta, and of the successes in between, nothing"


def a_recovery_is_known_after_a_restart(rondo, rondod):
    with Webhook() as hook, Notifying(rondo, rondod, hook_lines(hook, "hook", 'events = ["recovery"]')) as daemon:
        daemon.add_failing("alpha")
        for _ in range(3):
            daemon.trigger("alpha")
        daemon.process.kill()
        daemon.process.wait(PATIENCE)
        daemon.log.close()
        daemon.launch()
        poll("the runs of the former process are read", lambda: "failed 3 times in a row" in daemon.run("health").stdout)
        daemon.mend("alpha")
        daemon.trigger("alpha")
        assert poll("the recovery", lambda: hook.events("alpha"))[0]["event"] == "recovery"


def a_run_that_does_not_begin_is_late(rondo, rondod):
    with Webhook() as hook, Notifying(rondo, rondod, hook_lines(hook, "hook", "late_s = 1")) as daemon:
        daemon.ask("job", "add", "waits", "--handler", "command/absent", "--manual")
        run = daemon.ask("job", "trigger", "waits")["run"]
        event = poll("the event", lambda: hook.events("waits"))[0]
        assert event["event"] == "late" and event["run"] == run and event["late_s"] >= 1 and "state" not in event, event


def a_mail_has_the_run(rondo, rondod):
    lines = ['name = "mail"', 'kind = "mail"', 'from = "rondo@example.org"', 'to = ["ann@example.org", "bob@example.org"]',
             'user = "me"', 'secret_file = "{secret}"']
    with MailServer(SECRET) as server, Notifying(rondo, rondod, [*lines, f'target = "{server.url}"']) as daemon:
        daemon.add_failing("alpha")
        daemon.trigger("alpha")
        sender, receivers, text = poll("the mail", lambda: server.messages)[0]
        assert sender == "rondo@example.org" and receivers == ["ann@example.org", "bob@example.org"], (sender, receivers)
        message = email.message_from_bytes(text, policy=email.policy.default)
        assert message["Subject"] == "[rondo] job alpha failed" and message["To"] == "ann@example.org, bob@example.org", message
        body = message.get_content()
        assert "no handler 'nothing'" in body and "rondo job runs alpha" in body, body
        assert server.wrong_logins == 0 and not message.defects, message.defects


def a_mail_server_that_hangs_holds_up_nothing(rondo, rondod):
    mail = ['name = "mail"', 'kind = "mail"', 'from = "r@example.org"', 'to = ["ann@example.org"]']
    with MailServer() as server, Webhook() as hook, Notifying(rondo, rondod, [*mail, f'target = "{server.url}"'], hook_lines(hook)) as daemon:
        server.answers.clear()
        try:
            daemon.add_failing("alpha")
            daemon.trigger("alpha")
            poll("the mail server has the mail", lambda: server.messages)
            daemon.add_failing("beta")
            daemon.trigger("beta")
            poll("the webhook has both", lambda: hook.events("alpha") and hook.events("beta"))
        finally:
            server.answers.set()


def a_receiver_that_fails_is_tried_again(rondo, rondod):
    with Webhook(statuses=[503, 500]) as hook, Notifying(rondo, rondod, hook_lines(hook)) as daemon:
        daemon.add_failing("alpha")
        daemon.trigger("alpha")
        poll("the figures", lambda: daemon.figures()["sent"] == 1)
        assert len(hook.calls) == 3 and len({json.dumps(call[2]) for call in hook.calls}) == 1, hook.calls


def a_test_says_for_each_target_whether_it_has_arrived(rondo, rondod):
    mail = ['kind = "mail"', 'from = "r@example.org"', 'to = ["ann@example.org"]']
    with Webhook(statuses=[403]) as strict, Webhook() as hook, MailServer(SECRET) as server, MailServer(refuses=["ann@example.org"]) as knows_none:
        sections = (hook_lines(hook), hook_lines(strict, "strict"), ['name = "dead"', 'target = "http://127.0.0.1:1/"'],
                    ['name = "outside"', 'target = "http://192.0.2.1/"'], ['name = "inside"', f'target = "{hook.url}"', 'networks = ["10.0.0.0/8"]'],
                    ['name = "mail"', f'target = "{server.url}"', 'user = "me"', 'secret_file = "{secret}"', *mail],
                    ['name = "stranger"', f'target = "{server.url}"', *mail], ['name = "unknown"', f'target = "{knows_none.url}"', *mail])
        with Notifying(rondo, rondod, *sections) as daemon:
            said = daemon.run("job", "notify", "--test")
            lines = dict(line.split(": ", 1) for line in said.stdout.splitlines())
            assert said.returncode == 1 and len(lines) == len(sections), said
            assert lines["hook"] == "arrived" and lines["mail"] == "arrived", lines
            for name, why in (("strict", "it answered 403"), ("dead", "onnect"), ("outside", "192.0.2.1 is in no allowed network"),
                              ("inside", "127.0.0.1 is in no allowed network"), ("stranger", "530"), ("unknown", "550")):
                assert lines[name].startswith("did not arrive: ") and why in lines[name], (name, lines[name])
            assert daemon.run("job", "notify", "mail", "--test").stdout == "mail: arrived\n"
            assert "no [[notify]] with the name 'x'" in daemon.run("job", "notify", "x", "--test").stderr
            assert daemon.run("job", "notify").returncode == 2
            subjects = [email.message_from_bytes(text)["Subject"] for _, _, text in server.messages]
            assert subjects == ["[rondo] a test of the notifications of rondod"] * 2, subjects
            assert [call[2]["event"] for call in hook.calls] == ["test"], hook.calls


def secrets_are_not_shown(rondo, rondod):
    with MailServer("another") as server, Webhook(statuses=[500] * 9) as hook:
        sections = (hook_lines(hook, "hook", 'secret_file = "{secret}"'),
                    ['name = "mail"', 'kind = "mail"', f'target = "{server.url}"', 'from = "r@example.org"', 'to = ["ann@example.org"]',
                     'user = "me"', 'secret_file = "{secret}"'])
        with Notifying(rondo, rondod, *sections) as daemon:
            said = daemon.run("--json", "job", "notify", "--test")
            checked = subprocess.run([rondod, "--config", daemon.config, "--check-config"], capture_output=True, text=True, timeout=PATIENCE, check=False)
            assert said.returncode == 1 and server.wrong_logins == 1 and checked.returncode == 0, (said, checked)
            for text in (said.stdout, said.stderr, checked.stdout, checked.stderr, daemon.run("config").stdout, daemon.read_log()):
                assert SECRET not in text, text


def a_command_of_a_worker_gets_the_event(rondo, rondod):
    """The worker's file names the command. Nothing of the event is a part of a shell's text."""
    with Notifying(rondo, rondod, ['name = "page"', 'kind = "command"', 'target = "page"']) as daemon:
        script = os.path.join(daemon.folder, "page.py")
        got = os.path.join(daemon.folder, "got")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import json, os, sys\nevent = sys.stdin.read()\nassert event == os.environ['RONDO_PARAMETERS']\n"
                       f"open({got!r}, 'a').write(json.dumps([sys.argv[1:], json.loads(event)]) + '\\n')\n")
        config = os.path.join(daemon.folder, "worker.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[worker]\nsocket = "{daemon.socket}"\nstate = "{daemon.folder}/worker"\n[command.page]\nprogram = "{sys.executable}"\n'
                       f'arguments = ["{script}"]\nparameters_as_input = true\n')
        worker = subprocess.Popen([rondo, "worker", "--config", config], stderr=subprocess.DEVNULL)
        try:
            said = poll("the worker has the command", lambda: (one := daemon.run("job", "notify", "page", "--test")).returncode == 0 and one)
            assert said.stdout == "page: arrived\n", said
            daemon.ask("job", "add", "alpha", "--handler", "none", "--manual")
            daemon.ask("job", "edit", "alpha", "--handler", "no;$(touch${IFS}" + daemon.folder + "/owned)")
            run = daemon.trigger("alpha")

            def events():
                with open(got, encoding="utf-8") as file:
                    return [json.loads(line) for line in file]
            arguments, event = poll("the event", lambda: [one for one in events() if one[1]["event"] == "failure"])[0]
            assert arguments == [] and event["run"] == run and "$(touch" in event["note"], event
            assert not os.path.exists(os.path.join(daemon.folder, "owned"))
            jobs = {job["name"]: job for job in daemon.ask("job", "list")["rows"]}
            assert jobs["notify/page"]["handler"] == "command/page", jobs
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(PATIENCE)


def a_wrong_secret_file_ends_the_start(rondo, rondod):
    with Webhook() as hook, Notifying(rondo, rondod, hook_lines(hook)) as daemon:
        with open(daemon.config, encoding="utf-8") as file:
            text = file.read().replace(daemon.socket, daemon.socket + "2").replace("jobs.db", "other.db")
        config, secret = daemon.config + "2", os.path.join(daemon.folder, "own-secret")
        for content, setting, why in ((None, "notify.secret_file", "No such file"), ("\nsecond", "notify 'hook'", "is empty"), ("a\x01", "notify 'hook'", "printable")):
            if content is not None:
                with open(secret, "w", encoding="utf-8") as file:
                    file.write(content)
            with open(config, "w", encoding="utf-8") as file:
                file.write(text.replace('name = "hook"', f'name = "hook"\nsecret_file = "{secret}"'))
            said = subprocess.run([rondod, "--config", config], capture_output=True, text=True, timeout=PATIENCE, check=False)
            assert said.returncode != 0 and setting in said.stderr and why in said.stderr and (content or "?") not in said.stderr, said


CASES = (a_failure_and_a_recovery_reach_a_webhook, a_recovery_is_known_after_a_restart, a_run_that_does_not_begin_is_late,
         a_mail_has_the_run, a_mail_server_that_hangs_holds_up_nothing, a_receiver_that_fails_is_tried_again,
         a_test_says_for_each_target_whether_it_has_arrived, secrets_are_not_shown, a_command_of_a_worker_gets_the_event,
         a_wrong_secret_file_ends_the_start)


if __name__ == "__main__":
    run_cases(CASES, *sys.argv[1:3], only=sys.argv[3:])
