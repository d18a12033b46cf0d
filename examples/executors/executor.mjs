// An executor of rondod, with Node's standard library alone. docs/guide/executors.md shows it, and tests/executors/examples_test.py runs it.
// region: all
import http from "node:http";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";

const { RONDOD, TOKEN, HOST, PORT } = process.env;
const [running, logs] = [new Map(), new Map()];  // By log id.

async function greet(order, log, stop) {  // The handler executor/demo/greet.
  log(`hello ${order.executorParams}`);
  if (order.executorParams === "wait") await once(stop, "abort");
  if (order.executorParams !== "fail" && !stop.aborted) return "greeted";
  throw new Error("no greeting");
}

const post = (path, body) => fetch(`${RONDOD}/api/${path}`, {
  method: "POST", headers: { "Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": TOKEN },
  body: JSON.stringify(body), signal: AbortSignal.timeout(10_000),
}).then(async (answer) => (await answer.json()).code === 200).catch(() => false);

async function work(order, stop) {
  const end = await greet(order, (line) => logs.get(order.logId).push(line), stop)
    .then((text) => ({ handleCode: 200, handleMsg: text }), (error) => ({ handleCode: 500, handleMsg: error.message }));
  while (!await post("callback", [{ logId: order.logId, logDateTim: order.logDateTime, ...end }])) await pause(5_000);
  running.delete(order.logId);  // Until here it is busy.
}

function answer(path, body) {
  const atWork = [...running.values()].filter((run) => run.job === body.jobId);
  if (path === "/run" && body.executorHandler === "greet") {
    if (!logs.has(body.logId)) {
      const stop = new AbortController();
      running.set(body.logId, { job: body.jobId, stop });
      logs.set(body.logId, []);
      work(body, stop.signal);
    }
  } else if (path === "/kill") {
    atWork.forEach((run) => run.stop.abort());
  } else if (path === "/log") {
    const lines = (logs.get(body.logId) ?? []).slice(body.fromLineNum - 1, body.fromLineNum + 999);
    return { code: 200, content: { fromLineNum: body.fromLineNum, toLineNum: body.fromLineNum + lines.length - 1,
                                   logContent: lines.map((line) => line + "\n").join(""), isEnd: false } };
  } else if (path !== "/beat" && (path !== "/idleBeat" || atWork.length > 0)) {
    return { code: 500, msg: "busy, or no such path or handler" };
  }
  return { code: 200 };
}

const server = http.createServer(async (request, response) => {
  const isRondod = request.headers["xxl-job-access-token"] === TOKEN;
  response.end(JSON.stringify(isRondod ? answer(request.url, await json(request)) : { code: 500, msg: "wrong token" }));
});
await once(server.listen(PORT, HOST), "listening");
const address = `http://${HOST}:${server.address().port}`;
for (;; await pause(30_000)) await post("registry", { registryGroup: "EXECUTOR", registryKey: "demo", registryValue: address });
// endregion
