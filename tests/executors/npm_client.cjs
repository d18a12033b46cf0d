// An executor that uses a client from npm without changes. npm_clients_test.py drives it: a line on the standard input is a command, and a
// line of the standard output that begins with "@ " is an event in JSON. Usage: node npm_client.cjs CLIENT FOLDER, where FOLDER has
// node_modules. The environment has SCHEDULER, GROUP, TOKEN and LOGS.
//
// The clients repeat their registration every 30 seconds. Here the test decides when: setInterval() keeps such a function for the command
// "beat", so that no registration falls into a restart of the scheduler by chance.
const { createRequire } = require("node:module");
const http = require("node:http");
const path = require("node:path");
const readline = require("node:readline");

const [client, folder] = process.argv.slice(2);
const load = createRequire(path.join(folder, "package.json"));
const { SCHEDULER, GROUP, TOKEN, LOGS } = process.env;
const tell = (event) => process.stdout.write(`@ ${JSON.stringify(event)}\n`);

const beats = [];
const realInterval = globalThis.setInterval;
globalThis.setInterval = (f, milliseconds, ...rest) =>
  milliseconds === 30000 ? beats.push(f) : realInterval(f, milliseconds, ...rest);

const held = [];  // What ends the runs of the handler "hold", the oldest first.
const handlers = {
  greet: async () => ({ rows: 42 }),
  fail: async () => { throw new Error("no disk"); },
  echo: async (order, parameters) => ({ parameters, shard: order.broadcastIndex, shards: order.broadcastTotal }),
  hold: () => new Promise((resolve) => held.push(resolve)),
};

// The two clients call handlers with different arguments.
const ways = {
  "xxl-job": (app, address) => {
    const { createXxlJobExecutor } = load("xxl-job");
    const jobHandlers = new Map(Object.entries(handlers).map(([name, handler]) => [name, async (_logger, order, parameters) => {
      tell({ event: "begins", name, log: order.logId, shard: order.broadcastIndex, shards: order.broadcastTotal });
      return handler(order, parameters);
    }]));
    const executor = createXxlJobExecutor({ app, baseUrl: address, executorKey: GROUP, accessToken: TOKEN, scheduleCenterUrl: SCHEDULER,
                                            jobHandlers });
    executor.initialization();
    return () => executor.cancel();
  },
  "@dalongrong/xxl-job-executor": (app, address) => {
    Object.assign(process.env, { XXL_JOB_EXECUTOR_KEY: GROUP, XXL_JOB_SCHEDULE_CENTER_URL: SCHEDULER, XXL_JOB_ACCESS_TOKEN: TOKEN,
                                 XXL_JOB_JOB_LOG_PATH: LOGS });
    const XxlJobExecutor = load("@dalongrong/xxl-job-executor");
    const jobHandlers = new Map(Object.entries(handlers).map(([name, handler]) => [name, async (_logger, parameters) => {
      tell({ event: "begins", name });
      return handler({}, parameters);
    }]));
    const executor = new XxlJobExecutor(jobHandlers);
    executor.applyMiddleware({ app, appType: "EXPRESS", appDomain: address, path: "/job" });
    return () => executor.close();
  },
};

const express = load("express");
const app = express();
app.use(express.json());
const server = app.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const leave = ways[client](app, address);
  tell({ event: "listens", address: `${address}/job` });
  const commands = {
    beat: () => beats.forEach((beat) => beat()),
    release: () => held.shift()("released"),
    // How many connections the client keeps for its next requests.
    connections: () => tell({ event: "keeps", connections: Object.values(http.globalAgent.freeSockets).flat().length }),
    leave: () => leave().then(() => tell({ event: "left" })),
  };
  readline.createInterface({ input: process.stdin }).on("line", (line) => commands[line]()).on("close", () => process.exit(0));
});
