// One-shot runs of pg-boss or graphile-worker: from the time a run is due to its stored end. A part of job_databases.py, which starts it in
// a folder with node_modules.
//   node job_queues.cjs pg-boss|graphile-worker URL throughput|lateness RUNS LEAD
// The runs do nothing. They are due LEAD seconds after the start: all at once, or one each millisecond. Five seconds before, 500 others
// warm the program up. Prints "planned" when all are stored, and at the end what job_databases.py reads. Exit status 3: they were stored
// too late.
"use strict";

const { createRequire } = require("node:module");
const { Pool } = createRequire(process.cwd() + "/")("pg");

const PATIENCE_MS = 300_000;
const PAGE = 2_000;
const WARMUP_RUNS = 500;
const WARMUP_MS = 5_000;

const [peer, url, workload, runsText, lead] = process.argv.slice(2);
const runs = Number(runsText);
const step = workload === "lateness" ? 1 : 0;
const begin = Date.now() + 1000 * Number(lead);

const due = new Map();  // Of the measured runs without an end, by id.
const late = [];
let last = begin;

function now() {
  return performance.timeOrigin + performance.now();
}

/// The statement that stores these ends has returned.
function ended(ids) {
  last = now();
  for (const id of ids) {
    if (!due.has(String(id))) continue;
    late.push(last - due.get(String(id)));
    due.delete(String(id));
  }
}

function expect(id, time) {
  if (time.getTime() >= begin) due.set(String(id), time.getTime());
}

/// Calls 'add' with the due times of a page of runs.
async function addInPages(add) {
  await add(Array(WARMUP_RUNS).fill(new Date(begin - WARMUP_MS)));
  for (let first = 0; first < runs; first += PAGE) {
    await add(Array.from({ length: Math.min(PAGE, runs - first) }, (_, i) => new Date(begin + step * (first + i))));
  }
}

/// pg-boss has no event for a stored end: its statements go through this 'db', which it documents.
async function pgBoss(pool) {
  const WORKERS = 4;
  const PgBoss = createRequire(process.cwd() + "/")("pg-boss");
  const db = {
    async executeSql(text, values) {
      const result = await pool.query(text, values);
      if (text.includes("SET completed_on = now()")) ended(values[1]);
      return result;
    },
  };
  const boss = new PgBoss({ db });
  boss.on("error", (error) => { throw error; });
  await boss.start();
  await boss.createQueue("nothing");
  await addInPages((times) => boss.insert(times.map((startAfter) => ({ name: "nothing", startAfter }))));
  const stored = await pool.query("SELECT id, start_after FROM pgboss.job WHERE name = 'nothing'");
  for (const row of stored.rows) expect(row.id, row.start_after);
  for (let i = 0; i < WORKERS; ++i) await boss.work("nothing", { batchSize: 1000, pollingIntervalSeconds: 0.5 }, async () => {});
  return () => boss.stop({ graceful: false });
}

/// graphile-worker's event for an ended job comes before the batch with the end is stored: so its statements are watched.
async function graphileWorker(pool) {
  const { run, makeWorkerUtils, Logger } = createRequire(process.cwd() + "/")("graphile-worker");
  pool.on("connect", (client) => {
    const query = client.query;
    client.query = function (statement, ...rest) {
      const answer = query.call(this, statement, ...rest);
      if (!statement?.name?.startsWith("complete_job")) return answer;
      return answer.then((result) => {
        ended([statement.values[0]].flat());
        return result;
      });
    };
  });
  const logger = new Logger(() => (level, message) => {
    if (level === "error") console.error(message);
  });
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  await addInPages((times) => utils.addJobs(times.map((runAt) => ({ identifier: "nothing", payload: {}, runAt }))));
  await utils.release();
  const stored = await pool.query("SELECT id, run_at FROM graphile_worker._private_jobs");
  for (const row of stored.rows) expect(row.id, row.run_at);
  const worker = { concurrentJobs: 24, pollInterval: 500, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const runner = await run({ pgPool: pool, logger, noHandleSignals: true, taskList: { nothing: async () => {} }, preset: { worker } });
  return () => runner.stop();
}

function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)].toFixed(2);
}

async function main() {
  const pool = new Pool({ connectionString: url, max: peer === "pg-boss" ? 10 : 25 });
  const fail = (error) => { throw error; };
  pool.on("error", fail).on("connect", (client) => client.on("error", fail));
  const stop = await (peer === "pg-boss" ? pgBoss : graphileWorker)(pool);
  console.log("planned");
  if (Date.now() + WARMUP_MS + 1000 > begin) process.exit(3);
  while (due.size > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (Date.now() < begin + PATIENCE_MS) continue;
    console.error(`only ${late.length} of ${runs} runs have ended`);
    process.exit(1);
  }
  await stop();
  late.sort((a, b) => a - b);
  console.log(`runs ${late.length} seconds ${((last - begin) / 1000).toFixed(3)} p50_ms ${quantile(late, 0.5)} p99_ms ${quantile(late, 0.99)}`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
