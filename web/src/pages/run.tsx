// One run of a job: its times, its state, its log, and what can be done with it.
import { useState } from 'preact/hooks';
import { call, mayWrite } from '../api';
import { instant, span, visible } from '../format';
import { Bar, Confirm, type Kind, Page, Panel, State, Waiting } from '../parts/parts';
import { A, go, place, to } from '../router';
import { act, usePoll } from '../state';
import { hasEnded, lateness, type JobRow, jobAt, plain, ranFor, type Run, runAt, runsOf, type Shard } from './jobs_data';
import { RunLog } from './run_log';

export function RunPage({ name, number }: { name: string; number: number }) {
  const [isOver, setOver] = useState(false);
  const [asksKill, setAsksKill] = useState(false);
  const run = usePoll(
    `run ${name} ${number}`,
    async (signal) => {
      // Runs are listed by number: the first one below the next number is this one, if it is kept.
      const [found] = (await runsOf(name, String(number + 1), signal, 1, true)).rows;
      const own = found?.run === number ? found : null;
      setOver(own === null || hasEnded(own));
      return own;
    },
    isOver ? 0 : 1000,
  );
  const shown = run.data;
  const chosen = shown?.shards?.find(({ index }) => String(index) === place.value.query.get('shard'));
  const again = () => act('The run is run again', async () => {
    const next = await call<Run>('job-rerun', { run: number });
    go(runAt(name, next.run));
  });
  return (
    <Page
      title={<>{name}: run {number} {shown && <State state={shown.state} />}</>}
      beside={
        <>
          <A href={jobAt(name)}>the job</A>
          {shown && mayWrite() && !hasEnded(shown) && <button onClick={() => setAsksKill(true)}>Kill</button>}
          {shown && mayWrite() && hasEnded(shown) && shown.state !== 'succeeded' && <button onClick={() => void again()}>Run again</button>}
        </>
      }
    >
      <Waiting error={run.error} has={run.data !== undefined} />
      {shown === null && <p class="message">The job has no such run, or it is no longer kept.</p>}
      {shown && (
        <>
          {shown.trouble && <p class="message bad" role="alert">{shown.trouble}</p>}
          <div class="panels">
            <Panel title="Times"><Timeline run={shown} /></Panel>
            <Panel title="Run"><Facts name={name} run={shown} /></Panel>
          </div>
          {shown.shards && <Shards name={name} run={shown} shards={shown.shards} chosen={chosen} />}
          <RunLog key={`${number} ${chosen?.address}`} run={number} shard={chosen} />
        </>
      )}
      {asksKill && (
        <Confirm
          title={`Kill run ${number} of ${name}?`}
          verb="Kill"
          danger
          close={() => setAsksKill(false)}
          confirm={async () => {
            await call('job-kill', { run: number });
            run.refresh();
            return `Run ${number} was asked to stop`;
          }}
        >
          <p>Its handler is asked to stop, and it is not tried again. A run that has not begun ends.</p>
        </Confirm>
      )}
    </Page>
  );
}

interface Step {
  what: string;
  at: string;
  kind: Kind | '';
  note?: string | undefined;
}

function Timeline({ run }: { run: Run }) {
  const steps: Step[] = [{ what: 'scheduled', at: run.scheduled, kind: '' }];
  const kindOf = (state: string) => (state === 'succeeded' ? 'good' : ['failed', 'timed-out'].includes(state) ? 'bad' : 'warn');
  const earlier = (run.attempts ?? []).filter(({ attempt }) => attempt < run.attempt || (run.state === 'due' && attempt === run.attempt));
  const first = earlier[0]?.attempt ?? run.attempt;
  for (const { attempt, state, begun, ended, note } of earlier) {
    steps.push({ what: `attempt ${attempt} begun`, at: begun!, kind: '' });
    steps.push({ what: `attempt ${attempt} ${state}`, at: ended!, kind: kindOf(state), note: note?.replace(/^attempt \d+ (failed|timed out): /, '') });
  }
  const isShown = earlier.at(-1)?.attempt === run.attempt;
  if (run.begun && !isShown) steps.push({ what: run.attempt > 1 ? `attempt ${run.attempt} begun` : 'begun', at: run.begun, kind: '' });
  if (run.ended) steps.push({ what: run.state, at: run.ended, kind: kindOf(run.state) });
  return (
    <>
      <ul class="lines">
        {steps.map((step, i) => {
          const after = i === 0 ? 0 : Date.parse(step.at) - Date.parse(steps[i - 1]!.at);
          return (
            <li class={step.kind}>
              {instant(step.at, true)} {step.what} {i > 0 && <span class="note">{after < 0 ? '' : `+${span(after)}`}</span>}
              {step.note && <div class="note">{step.note}</div>}
            </li>
          );
        })}
        {first > 1 && <li class="note">The times of {first === 2 ? 'attempt 1' : `attempts 1 to ${first - 1}`} are not kept.</li>}
        {!run.ended && <li>{run.state === 'running' ? `running for ${span(ranFor(run))}` : run.activity ?? run.state}</li>}
      </ul>
      {run.progress && (run.progress.percent > 0 || run.progress.text) && (
        <>
          <Bar of={100} parts={[{ name: 'done', value: run.progress.percent, kind: 'busy' }]} />
          <p class="note">{run.progress.percent} % {run.progress.text}</p>
        </>
      )}
    </>
  );
}

const kShardKinds: Record<string, Kind> = { succeeded: 'good', failed: 'bad', running: 'busy', sent: 'busy', waiting: 'warn' };

function shardText({ index, address, state, note, ...times }: Shard): string {
  const took = times.begun && (times.ended || state === 'running') ? `, ${times.ended ? 'took' : 'for'} ${span(ranFor(times))}` : '';
  return `Shard ${index} at ${address}: ${state}${took}${note ? `: ${note}` : ''}`;
}

/// The shards of a broadcast, a cell each, which leads to the log of the shard.
function Shards({ name, run, shards, chosen }: { name: string; run: Run; shards: Shard[]; chosen: Shard | undefined }) {
  const states = [...new Set(shards.map(({ state }) => state))];
  return (
    <Panel
      title={`Shards: ${shards.length + (run.shards_beyond ?? 0)}`}
      beside={<span class="legend">{states.map((state) => <span><State state={state} kind={kShardKinds[state] ?? 'idle'} /> {shards.filter((shard) => shard.state === state).length}</span>)}</span>}
    >
      <ol class="cells" aria-label="Shards">
        {shards.map((shard) => (
          <li key={shard.index}>
            <A
              class={kShardKinds[shard.state] ?? 'idle'}
              title={shardText(shard)}
              current={shard === chosen}
              replace
              href={to(['jobs', name, String(run.run)], { shard: shard === chosen ? undefined : String(shard.index) })}
            >
              <span aria-hidden="true">{shard.index}</span>
              <span class="hidden">{shardText(shard)}</span>
            </A>
          </li>
        ))}
      </ol>
      {run.shards_beyond && <p class="note">{run.shards_beyond} more are not shown.</p>}
      {chosen && <p>{shardText(chosen)}</p>}
    </Panel>
  );
}

const kBands: Record<string, string> = {
  ring: 'its schedule',
  direct: 'its schedule, a little late',
  misfire: 'its schedule, after it was missed',
  manual: 'a person or a program',
  backfill: 'a backfill',
};

function Facts({ name, run }: { name: string; run: Run }) {
  const facts: [string, preact.ComponentChildren][] = [
    ['Brought by', run.rerun_of ? 'a person or a program, to run it again' : (kBands[run.band] ?? run.band)],
    ['Attempts', run.attempt],
    ['Took', run.begun && run.ended ? span(ranFor(run)) : undefined],
    ['Late', lateness(run)],
    ['Note', run.note],
    ['Where', run.place],
    ['Runs again', run.rerun_of ? <A href={runAt(name, run.rerun_of)}>run {run.rerun_of}</A> : undefined],
    ['After', run.parents?.length ? <Parents name={name} parents={run.parents} /> : undefined],
    ['Instants missed before it', run.missed],
    ['Only at', run.address],
    ['Trace', run.trace && <span class="mono">{run.trace}</span>],
    ['Own parameters', run.parameters === undefined ? undefined : <span class="mono lines-kept">{visible(plain(run.parameters))}</span>],
  ];
  return <dl class="facts">{facts.filter(([, value]) => value !== undefined).map(([label, value]) => <><dt>{label}</dt><dd>{value}</dd></>)}</dl>;
}

/// The runs of the jobs above. A run has their numbers, and its job has their names in the same order, unless it was edited since.
function Parents({ name, parents }: { name: string; parents: number[] }) {
  const found = usePoll(
    `parents ${name} ${parents.join()}`,
    async (signal) => {
      const job = await call<JobRow>('job', { name }, signal);
      return Promise.all(parents.map(async (number, i) => {
        const above = job.parents?.[i];
        const [run] = above === undefined ? [] : (await runsOf(above, String(number + 1), signal, 1)).rows;
        return { number, above: run?.run === number ? above : undefined };
      }));
    },
    0,
  );
  return <>{(found.data ?? parents.map((number) => ({ number, above: undefined }))).map(({ number, above }, i) => (
    <>{i > 0 && ', '}{above ? <A href={to(['jobs', above, String(number)])}>{above} run {number}</A> : `run ${number}`}</>
  ))}</>;
}
