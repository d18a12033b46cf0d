#!/usr/bin/env python3
"""An executor of rondod, with Python's standard library alone. docs/guide/executors.md shows it, tests/executors/examples_test.py runs it."""
# region: all
import http.server, json, os, threading, time, urllib.request

TOKEN, running, logs = os.environ["TOKEN"], {}, {}  # The last two by log id.

def greet(order, log, stop):  # The handler executor/demo/greet.
    log("hello " + order["executorParams"])
    if order["executorParams"] == "fail" or order["executorParams"] == "wait" and stop.wait():
        raise RuntimeError("no greeting")
    return "greeted"

def post(path, body):
    headers = {"Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": TOKEN}
    try:
        request = urllib.request.Request(os.environ["RONDOD"] + "/api/" + path, json.dumps(body).encode(), headers)
        return json.load(urllib.request.urlopen(request, timeout=10))["code"] == 200
    except OSError:
        return False

def work(order, stop):
    result = {"logId": order["logId"], "logDateTim": order["logDateTime"], "handleCode": 200}
    try:
        result["handleMsg"] = greet(order, logs[order["logId"]].append, stop)
    except Exception as error:
        result.update(handleCode=500, handleMsg=str(error))
    while not post("callback", [result]):
        time.sleep(5)
    del running[order["logId"]]  # Until here it is busy.

def answer(path, body):
    stops = [stop for job, stop in list(running.values()) if job == body.get("jobId")]
    if path == "/run" and body["executorHandler"] == "greet":
        if body["logId"] not in logs:
            running[body["logId"]], logs[body["logId"]] = (body["jobId"], threading.Event()), []
            threading.Thread(target=work, args=(body, running[body["logId"]][1])).start()
    elif path == "/kill":
        [stop.set() for stop in stops]
    elif path == "/log":
        lines = logs.get(body["logId"], [])[body["fromLineNum"] - 1:][:1000]
        return {"code": 200, "content": {"fromLineNum": body["fromLineNum"], "toLineNum": body["fromLineNum"] + len(lines) - 1,
                                         "logContent": "".join(line + "\n" for line in lines), "isEnd": False}}
    elif path != "/beat" and (path != "/idleBeat" or stops):
        return {"code": 500, "msg": "busy, or no such path or handler"}
    return {"code": 200}

class Calls(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_rondod = self.headers["XXL-JOB-ACCESS-TOKEN"] == TOKEN
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer(self.path, body) if is_rondod else {"code": 500, "msg": "wrong token"}).encode())

server = http.server.ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Calls)
threading.Thread(target=server.serve_forever).start()
while True:
    post("registry", {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": "http://%s:%d" % server.server_address})
    time.sleep(30)
# endregion
