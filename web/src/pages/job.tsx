// One job: its definition, when it is due, its runs, and what can be done with it.
import { useState } from 'preact/hooks';
import { call, mayWrite } from '../api';
import { away, count, counted, instant, kLocalZone, span, visible } from '../format';
import { useLivePages } from '../parts/live_pages';
import { Confirm, Empty, List, Page, Panel, State, Waiting } from '../parts/parts';
import { A, go, to } from '../router';
import { tell, textOf, usePoll, zone } from '../state';
import { kFields, shown } from './job_fields';
import { JobState } from './jobs';
import { definitionOf, escaped, hasEnded, type Instant, lateness, type JobRow, jobAt, kRunKinds, mayDefine, plain, preview, type Preview, ranFor, type Run, runAt, runsOf } from './jobs_data';

type Asked = 'run' | 'stop' | 'backfill' | 'remove';

export function Job({ name }: { name: string }) {
  const job = usePoll(`job ${name}`, (signal) => call<JobRow>('job', { name }, signal), 2000);
  const runs = useLivePages<Run>(`runs ${name}`, (before, signal) => runsOf(name, before, signal), (a, b) => b.run - a.run, 2000);
  const [asked, setAsked] = useState<Asked>();
  const again = () => {
    job.refresh();
    runs.refresh();
  };
  const close = () => setAsked(undefined);
  const shownJob = job.data;
  return (
    <Page
      title={<>{name} {shownJob && <JobState job={shownJob} />}</>}
      live
      beside={shownJob && mayWrite() && (
        <>
          <button class="primary" onClick={() => setAsked('run')}>Run now</button>
          <button onClick={() => setAsked('stop')}>{shownJob.running ? 'Stop' : 'Start'}</button>
          {mayDefine() && <button onClick={() => go(to(['jobs', name], { edit: '1' }))}>Edit</button>}
          <button onClick={() => setAsked('backfill')}>Backfill</button>
          {mayDefine() && <button onClick={() => setAsked('remove')}>Remove</button>}
        </>
      )}
    >
      <Waiting error={job.error} has={job.data !== undefined} />
      {shownJob && (
        <>
          <Troubles job={shownJob} />
          <div class="panels">
            <Panel title="Definition"><Facts job={shownJob} /></Panel>
            <Instants job={shownJob} />
          </div>
          <Panel title="Runs" beside={runs.rows.length > 0 && <Rate runs={runs.rows} />}>
            <Waiting error={runs.error} has={runs.has} />
            {runs.has && runs.rows.length === 0 && <Empty>It has not run yet.</Empty>}
            {runs.rows.length > 0 && <Strip name={name} runs={runs.rows.slice(0, 50)} />}
            {runs.rows.length > 0 && <Runs name={name} runs={runs.rows} />}
            <div class="more">
              {runs.more && <button onClick={runs.more}>Older</button>}
              {runs.rows.length > 0 && <span>{count(runs.rows.length)} shown</span>}
            </div>
          </Panel>
          <Below name={name} />
        </>
      )}
      {shownJob && asked === 'run' && <RunNow job={shownJob} close={close} />}
      {shownJob && asked === 'stop' && <StopOrStart job={shownJob} close={close} done={again} />}
      {shownJob && asked === 'backfill' && <Backfill name={name} close={close} done={again} />}
      {asked === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          verb="Remove"
          danger
          close={close}
          confirm={async () => {
            await call('job-remove', { name });
            go(to(['jobs']));
            return `${name} was removed`;
          }}
        >
          <p>Its runs and their history are removed with it. A job that only shall not run may be stopped.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Troubles({ job }: { job: JobRow }) {
  const lines = [job.damaged, job.warning, ...(job.under_way ?? []).map((run) => run.trouble && `run ${run.run}: ${run.trouble}`)].filter(Boolean);
  return lines.length === 0 ? null : <Panel><ul class="lines">{lines.map((line) => <li class="warn">{line}</li>)}</ul></Panel>;
}

function Facts({ job }: { job: JobRow }) {
  const definition = definitionOf(job);
  return (
    <dl class="facts">
      {kFields.filter((field) => field.name !== 'name' && definition[field.name] !== undefined).map((field) => (
        <>
          <dt>{field.label}</dt>
          <dd class={field.kind === 'area' ? 'mono lines-kept' : undefined}>
            {field.name === 'parents' ? job.parents?.map((parent, i) => <>{i > 0 && ', '}<A href={jobAt(parent)}>{parent}</A></>) : visible(shown(field, definition[field.name]))}
          </dd>
        </>
      ))}
      {!job.running && job.stop_note && <><dt>Stopped because</dt><dd>{job.stop_note}</dd></>}
    </dl>
  );
}

function Instants({ job }: { job: JobRow }) {
  const definition = definitionOf(job);
  // The next instants change when one has passed.
  const found = usePoll(`${job.next} ${JSON.stringify(definition)}`, (signal) => preview(definition, signal), 60_000);
  return (
    <Panel title={job.running ? 'Next' : 'Next, if it were started'}>
      <Waiting error={found.error} has={found.data !== undefined} />
      {found.data && <PreviewList preview={found.data} parents={job.parents ?? []} />}
    </Panel>
  );
}

function clockOf({ clock_change }: Instant) {
  return clock_change && <State state="the clock changes on this day" kind="warn" />;
}

/// The words of a schedule and its next instants, in the zone of the job and in that of the reader.
export function PreviewList({ preview: { words, zone: own, instants, troubles }, parents }: { preview: Preview; parents: string[] }) {
  const reader = zone.value === 'utc' ? 'UTC' : kLocalZone;
  const jobZone = own || 'UTC';
  return (
    <>
      {words && <p>{words}</p>}
      {troubles?.map((trouble) => <p class="message bad">{trouble}</p>)}
      {instants.length === 0 && <Empty>{parents.length > 0 ? `It runs after ${parents.join(', ')}.` : 'It is not due by itself.'}</Empty>}
      {instants.length > 0 && (
        <List
          name="Next instants"
          rows={instants}
          id={(one) => one.at}
          columns={[
            { name: jobZone, cell: (one) => <>{one.local.replace('T', ' ')} <span class="note">{away(one.at)}</span></> },
            ...(jobZone === reader ? [] : [{ name: reader, cell: (one: { at: string }) => instant(one.at) }]),
            ...(instants.some((one) => one.clock_change) ? [{ name: 'Clock', cell: clockOf }] : []),
          ]}
        />
      )}
    </>
  );
}

function Rate({ runs }: { runs: Run[] }) {
  const ended = runs.filter(hasEnded);
  const good = ended.filter((run) => run.state === 'succeeded').length;
  return <span class="note">{ended.length > 0 && `${count(good)} of the last ${count(ended.length)} succeeded`}</span>;
}

function told(run: Run): string {
  const times = run.begun === null ? 'not begun' : `begun ${instant(run.begun)}, ${span(ranFor(run))}`;
  return `run ${run.run}: ${run.state}, scheduled ${instant(run.scheduled)}, ${times}`;
}

/// The durations of the newest runs, the oldest at the left.
function Strip({ name, runs }: { name: string; runs: Run[] }) {
  const longest = Math.max(...runs.map(ranFor));
  return (
    <>
      <div class="strip runs">
        {[...runs].reverse().map((run) => (
          <A key={run.run} href={runAt(name, run.run)} title={told(run)} class={kRunKinds[run.state] ?? 'idle'}>
            <span class="hidden">{told(run)}</span>
            <span class="fill" style={{ height: `${Math.max(8, (100 * ranFor(run)) / (longest || 1))}%` }} />
          </A>
        ))}
      </div>
      <p class="note">How long the last {runs.length} runs took, the newest at the right; the longest {span(longest)}.</p>
    </>
  );
}

function Runs({ name, runs }: { name: string; runs: Run[] }) {
  return (
    <List
      name={`Runs of ${name}`}
      rows={runs}
      id={(run) => String(run.run)}
      columns={[
        { name: 'Run', right: true, cell: (run) => <A href={runAt(name, run.run)}>{run.run}</A> },
        { name: 'State', cell: (run) => <State state={run.state} /> },
        { name: 'Scheduled', cell: (run) => instant(run.scheduled) },
        { name: 'Late', right: true, cell: (run) => lateness(run) },
        { name: 'Took', right: true, cell: (run) => (run.begun ? span(ranFor(run)) : '') },
        { name: 'Attempts', right: true, cell: (run) => (run.attempt > 1 ? run.attempt : '') },
        { name: 'Brought by', cell: (run) => (run.rerun_of ? `rerun of ${run.rerun_of}` : run.band === 'ring' || run.band === 'direct' ? '' : run.band) },
        {
          name: 'Note',
          class: 'text',
          cell: (run) => [run.trouble, run.note, run.progress && `${run.progress.percent} % ${run.progress.text ?? ''}`, !run.note && run.state === 'due' && run.activity].filter(Boolean).join(' · '),
        },
      ]}
    />
  );
}

/// The jobs that run after this one. The daemon has no list of them, so all jobs are read, when the reader asks.
function Below({ name }: { name: string }) {
  const [jobs, setJobs] = useState<JobRow[]>();
  const read = async () => {
    try {
      const { rows } = await call<{ rows: JobRow[] }>('jobs');
      setJobs(rows.filter((job) => job.parents?.includes(name)));
    } catch (error) {
      tell(textOf(error), true);
    }
  };
  return (
    <Panel title="Jobs that run after it" beside={!jobs && <button class="quiet" onClick={() => void read()}>Look for them</button>}>
      {jobs?.length === 0 && <Empty>No job has it as its parent.</Empty>}
      {jobs && jobs.length > 0 && (
        <List
          name="Jobs that run after it"
          rows={jobs}
          id={(job) => job.name}
          columns={[{ name: 'Name', cell: (job) => <A href={jobAt(job.name)}>{job.name}</A> }, { name: 'State', cell: (job) => <JobState job={job} /> }]}
        />
      )}
    </Panel>
  );
}

function RunNow({ job, close }: { job: JobRow; close: () => void }) {
  const own = plain(String(job.parameters ?? ''));
  const [parameters, setParameters] = useState(own);
  const [address, setAddress] = useState('');
  return (
    <Confirm
      title={`Run ${job.name} now`}
      verb="Run"
      close={close}
      confirm={async () => {
        const run = await call<Run>('job-trigger', { name: job.name, parameters: parameters === own ? undefined : escaped(parameters), address: address || undefined });
        go(runAt(job.name, run.run));
        return `${job.name} was triggered`;
      }}
    >
      <label>Parameters, for this run alone<textarea value={parameters} spellcheck={false} onInput={(event) => setParameters(event.currentTarget.value)} /></label>
      {job.handler.startsWith('executor/') && <label>Address of the executor; empty: as the job routes<input value={address} onInput={(event) => setAddress(event.currentTarget.value)} /></label>}
      <p class="note">The jobs below it run after it.</p>
    </Confirm>
  );
}

export function StopOrStart({ job, close, done }: { job: JobRow; close: () => void; done: () => void }) {
  const [note, setNote] = useState('');
  const verb = job.running ? 'Stop' : 'Start';
  return (
    <Confirm
      title={`${verb} ${job.name}?`}
      verb={verb}
      close={close}
      confirm={async () => {
        await (job.running ? call('job-stop', { name: job.name, note: escaped(note) || undefined }) : call('job-start', { name: job.name }));
        done();
        return `${job.name} was ${job.running ? 'stopped' : 'started'}`;
      }}
    >
      {job.running && <label>Note for people: why it is stopped<input value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>}
      <p>{job.running ? 'Planned runs that have not begun are skipped. Runs that have begun go on.' : 'The first run is the first one that is due from now on.'}</p>
    </Confirm>
  );
}

/// A time of a field, in the zone that the reader has chosen.
function fromField(value: string): string {
  const date = new Date(zone.value === 'utc' ? `${value}Z` : value);
  return Number.isNaN(date.getTime()) ? value : date.toISOString();
}

function Backfill({ name, close, done }: { name: string; close: () => void; done: () => void }) {
  const [range, setRange] = useState({ from: '', to: '' });
  const [missing, setMissing] = useState<string[]>();
  const ask = (dry: boolean) =>
    call<{ rows: { scheduled: string }[] }>('job-backfill', { name, from: fromField(range.from), to: fromField(range.to), max: 1000, dry_run: dry });
  const change = (part: Partial<typeof range>) => {
    setRange({ ...range, ...part });
    setMissing(undefined);
  };
  const confirm = async () => {
    const { rows } = await ask(missing === undefined);
    if (missing === undefined) {
      setMissing(rows.map((row) => row.scheduled));
      return undefined;
    }
    done();
    return `${rows.length} runs of ${name} were added`;
  };
  return (
    <Confirm title={`Backfill ${name}`} verb={missing ? `Run ${counted(missing.length, 'instant')}` : 'Preview'} disabled={!range.from || !range.to || missing?.length === 0} close={close} confirm={confirm}>
      <p>Past instants of the range that have no run get one. Times are {zone.value === 'utc' ? 'in UTC' : `local (${kLocalZone})`}.</p>
      <div class="form">
        <label>From<input type="datetime-local" required value={range.from} onInput={(event) => change({ from: event.currentTarget.value })} /></label>
        <label>To, not included<input type="datetime-local" required value={range.to} onInput={(event) => change({ to: event.currentTarget.value })} /></label>
      </div>
      {missing?.length === 0 && <Empty>Each instant of the range has a run.</Empty>}
      {missing && missing.length > 0 && (
        <p class="note">{missing.slice(0, 5).map((at) => instant(at)).join(', ')}{missing.length > 5 && ` … ${instant(missing.at(-1))}`}</p>
      )}
    </Confirm>
  );
}
