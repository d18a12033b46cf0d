// All jobs: what they run, when they are due, and the actions in their rows.
import { useState } from 'preact/hooks';
import { call, mayWrite } from '../api';
import { away, count, instant } from '../format';
import { Choice, Confirm, List, Page, Panel, Search, State, Waiting } from '../parts/parts';
import { useLivePages } from '../parts/live_pages';
import { A, go, place, setQuery, to } from '../router';
import { Failures } from './failures';
import { Job, StopOrStart } from './job';
import { EditJob, NewJob } from './job_form';
import { type JobRow, jobAt, listJobs, mayDefine } from './jobs_data';
import { NextHours } from './load';
import { RunPage } from './run';

export function Jobs({ parts }: { parts: string[] }) {
  const { query } = place.value;
  const [name, run] = parts;
  if (name !== undefined && run !== undefined && /^\d+$/.test(run)) return <RunPage key={`${name} ${run}`} name={name} number={Number(run)} />;
  if (name !== undefined) return query.get('edit') && mayDefine() ? <EditJob key={name} name={name} /> : <Job key={name} name={name} />;
  if (query.get('new') && mayDefine()) return <NewJob />;
  const view = query.get('view');
  return view === 'failures' ? <Failures /> : view === 'hours' ? <NextHours /> : <AllJobs />;
}

const kStates = [['', 'all'], ['running', 'started'], ['stopped', 'stopped'], ['failing', 'failing']] as const;

export function JobState({ job }: { job: JobRow }) {
  if (job.damaged) return <State state="damaged" kind="bad" />;
  return job.running ? <State state="started" kind="good" /> : <State state="stopped" />;
}

function Next({ job }: { job: JobRow }) {
  if (!job.running) return <span class="note">{job.stop_note}</span>;
  if (job.parents?.length) return <>after {job.parents.map((parent, i) => <>{i > 0 && ', '}<A href={jobAt(parent)}>{parent}</A></>)}</>;
  return job.next ? <>{instant(job.next)} <span class="note">{away(job.next)}</span></> : <>–</>;
}

function Last({ job }: { job: JobRow }) {
  if (!job.last_state) return <span class="note">never</span>;
  const success = job.last_success ? `succeeded ${away(job.last_success)}` : 'no success';
  return <><State state={job.last_state} /> <span class="note">{away(job.last_ended)}{job.last_state !== 'succeeded' && `, ${success}`}</span></>;
}

function AllJobs() {
  const { query } = place.value;
  const filter = { find: query.get('find') ?? '', state: query.get('state') ?? '', tag: query.get('tag') ?? '', owner: query.get('owner') ?? '' };
  const [asked, setAsked] = useState<{ job: JobRow; what: 'run' | 'stop' }>();
  const jobs = useLivePages<JobRow>(
    JSON.stringify(filter),
    (after, signal) => listJobs(filter, after, signal),
    (a, b) => (a.name < b.name ? -1 : 1),
    3000,
  );
  const isFiltered = Object.values(filter).some(Boolean);
  const only = (name: 'tag' | 'owner', value: string) => <A href={to(['jobs'], { ...filter, [name]: value })} title={`Only jobs of this ${name}`}>{value}</A>;
  return (
    <Page
      title="Jobs"
      live
      beside={
        <>
          <A href={to(['jobs'], { view: 'failures' })}>What failed</A>
          <A href={to(['jobs'], { view: 'hours' })}>Next hours</A>
          {mayDefine() && <button onClick={() => go(to(['jobs'], { new: '1' }))}>Add a job</button>}
        </>
      }
    >
      <Panel>
        <div class="bar-of-tools">
          <Search label="Find a job" hint="Name, handler, tag, owner, note" value={filter.find} change={(value) => setQuery('find', value)} />
          <Choice label="State" value={filter.state as (typeof kStates)[number][0]} values={kStates} change={(value) => setQuery('state', value)} />
          {(['tag', 'owner'] as const).map((name) => filter[name] && (
            <button class="quiet" title="Remove this filter" onClick={() => setQuery(name, '')}>{name}: {filter[name]} ×</button>
          ))}
        </div>
        <Waiting error={jobs.error} has={jobs.has} />
        {jobs.has && jobs.rows.length === 0 && <p class="message">{isFiltered ? 'No job matches.' : 'There is no job yet.'}</p>}
        {jobs.rows.length > 0 && (
          <List
            name="Jobs"
            rows={jobs.rows}
            id={(job) => job.name}
            columns={[
              { name: 'Name', cell: (job) => <A href={jobAt(job.name)}>{job.name}</A> },
              { name: 'Handler', class: 'key', cell: (job) => job.handler },
              { name: 'Schedule', class: 'key', cell: (job) => (job.parents?.length ? '' : <>{job.schedule ?? 'manual'}{job.zone && ` (${job.zone})`}</>) },
              { name: 'Next', cell: (job) => <Next job={job} /> },
              { name: 'State', cell: (job) => <JobState job={job} /> },
              ...(jobs.rows.some((job) => job.last_state !== undefined) ? [{ name: 'Last run', cell: (job: JobRow) => <Last job={job} /> }] : []),
              { name: 'Tags', cell: (job) => job.tags?.map((tag, i) => <>{i > 0 && ', '}{only('tag', tag)}</>) },
              { name: 'Owner', cell: (job) => job.owner && only('owner', job.owner) },
              ...(mayWrite() ? [{
                name: 'Actions',
                right: true,
                class: 'actions',
                cell: (job: JobRow) => (
                  <>
                    <button class="row" aria-label={`Run ${job.name} now`} onClick={() => setAsked({ job, what: 'run' })}>Run</button>
                    <button class="row" aria-label={`${job.running ? 'Stop' : 'Start'} ${job.name}`} onClick={() => setAsked({ job, what: 'stop' })}>{job.running ? 'Stop' : 'Start'}</button>
                  </>
                ),
              }] : []),
            ]}
          />
        )}
        <div class="more">
          {jobs.more && <button onClick={jobs.more}>More</button>}
          {jobs.rows.length > 0 && <span>{count(jobs.rows.length)} shown{jobs.isCut && '; search for the others'}</span>}
        </div>
      </Panel>
      {asked?.what === 'stop' && <StopOrStart job={asked.job} close={() => setAsked(undefined)} done={jobs.refresh} />}
      {asked?.what === 'run' && (
        <Confirm
          title={`Run ${asked.job.name} now?`}
          verb="Run"
          close={() => setAsked(undefined)}
          confirm={async () => {
            await call('job-trigger', { name: asked.job.name });
            return `A run of ${asked.job.name} was triggered`;
          }}
        >
          <p>It runs once, also if the job is stopped; the jobs below it run after it. Its page lets you change the parameters.</p>
        </Confirm>
      )}
    </Page>
  );
}
