// How many runs the next hours bring, a bar a minute, and the jobs of one minute.
import { ApiError, call } from '../api';
import { serverTime } from '../clock';
import { count, counted, instant } from '../format';
import type { Rows } from '../parts/paged';
import { Choice, Empty, List, Page, Panel, Waiting } from '../parts/parts';
import { A, go, place, setQuery, to } from '../router';
import { usePoll } from '../state';
import { isUnknown, type JobRow, jobAt, kDay, kHour } from './jobs_data';

interface Load {
  from: string;
  minutes: number[];
  jobs_counted: number;
  cut_short: boolean;
}

const kMinute = 60_000;
const kHeight = 100;
/// The jobs of a minute are searched among so many pages of jobs, and so many jobs are asked for their instants, kTogether at a time.
const kPages = 10;
const kAsked = 200;
const kTogether = 10;
/// Pixels from a bar that still mean it.
const kReach = 4;

/// The load of the next so many milliseconds. It is asked for again each minute.
export function useLoad(length: number) {
  return usePoll(`load ${length}`, (signal) => {
    const from = Math.floor(serverTime() / kMinute) * kMinute;
    return call<Load>('job-load', { from: new Date(from).toISOString(), to: new Date(from + length).toISOString() }, signal);
  }, kMinute);
}

const timeAt = (load: Load, minute: number) => instant(new Date(Date.parse(load.from) + minute * kMinute).toISOString()).slice(0, 16);
const minuteAt = (load: Load, minute: number) => to(['jobs'], {
  view: 'hours',
  of: load.minutes.length > 60 ? 'day' : undefined,
  at: new Date(Date.parse(load.from) + minute * kMinute).toISOString(),
});
const peak = (load: Load) => load.minutes.reduce((best, runs, minute) => (runs > (load.minutes[best] ?? 0) ? minute : best), 0);

/// A bar leads to the jobs of its minute; who has no pointer comes to them by the peaks and by the neighbours of each minute.
export function LoadBars({ load, chosen }: { load: Load; chosen?: number }) {
  const most = Math.max(1, ...load.minutes);
  const width = load.minutes.length;
  const bars = load.minutes.map((runs, minute) => {
    const height = (kHeight * runs) / most;
    return runs > 0 ? `M${minute + 0.1} ${kHeight}v${-height}h0.8v${height}z` : '';
  });
  const busiest = peak(load);
  const choose = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const minutes = width / box.width;
    const at = (event.clientX - box.left) * minutes - 0.5;
    const near = load.minutes.map((runs, minute) => ({ runs, minute, far: Math.abs(minute - at) })).filter(({ runs, far }) => runs > 0 && far <= 0.5 + kReach * minutes);
    if (near.length > 0) go(minuteAt(load, near.reduce((best, one) => (one.far < best.far ? one : best)).minute));
  };
  return (
    <>
      <svg class="load" onClick={choose} viewBox={`0 0 ${width} ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={`Runs a minute; most at ${timeAt(load, busiest)}: ${count(load.minutes[busiest])}`}>
        <path d={bars.join('')} />
        {chosen !== undefined && <path class="chosen" d={bars[chosen] ?? ''} />}
      </svg>
      <p class="note load-times"><span>{timeAt(load, 0).slice(11)}</span><span>{timeAt(load, Math.floor(width / 2)).slice(11)}</span><span>{timeAt(load, width).slice(11)}</span></p>
    </>
  );
}

interface Starts {
  job: JobRow;
  /// The first start in the minute.
  first: string | undefined;
  starts: number;
  /// The job starts so often that not all its instants were listed.
  more: boolean;
}

async function startsOf(job: JobRow, begin: number, signal: AbortSignal): Promise<Starts> {
  const max = 200;
  // A random delay may bring the start of an earlier instant into the minute. The first instant is after 'from'.
  const from = new Date(begin - Number(job.jitter_ms ?? 0) - 1).toISOString();
  const { rows } = await call<{ rows: { due: string }[] }>('job-next', { name: job.name, from, max }, signal);
  const within = rows.filter(({ due }) => Date.parse(due) >= begin && Date.parse(due) < begin + kMinute);
  return { job, first: within[0]?.due, starts: within.length, more: rows.length === max && Date.parse(rows[max - 1]!.due) < begin + kMinute };
}

/// The jobs that start in the minute from 'begin' on. No command lists them, so the started jobs are read and those asked whose next instant is not later.
async function jobsOf(begin: number, signal: AbortSignal): Promise<{ found: Starts[]; isCut: boolean }> {
  const could: JobRow[] = [];
  let after: string | undefined;
  for (let page = 0; page < kPages && (page === 0 || after !== undefined); ++page) {
    const { rows, next } = await call<Rows<JobRow>>('jobs', { state: 'running', count: 200, after }, signal);
    // Of the minute under way the instants of a job may be over.
    could.push(...rows.filter((job) => job.next && (begin <= serverTime() || Date.parse(job.next) < begin + kMinute)));
    after = next;
  }
  const found: Starts[] = [];
  let isPartial = false;
  for (let at = 0; at < Math.min(could.length, kAsked); at += kTogether) {
    const asked = could.slice(at, Math.min(at + kTogether, kAsked)).map((job) =>
      startsOf(job, begin, signal).catch((error: unknown) => {
        // A job may be gone meanwhile, or its schedule may have no meaning any more: the others are shown.
        if (!(error instanceof ApiError && [400, 404, 409].includes(error.status))) throw error;
        isPartial = true;
        return undefined;
      }),
    );
    found.push(...(await Promise.all(asked)).filter((one) => one !== undefined));
  }
  const starting = found.filter(({ starts, more }) => starts > 0 || more);
  const at = (one: Starts) => Date.parse(one.first ?? one.job.next ?? '');
  starting.sort((a, b) => at(a) - at(b) || b.starts - a.starts);
  return { found: starting, isCut: isPartial || after !== undefined || could.length > kAsked };
}

function Minute({ begin, load }: { begin: number; load: Load }) {
  const jobs = usePoll(`minute ${begin}`, (signal) => jobsOf(begin, signal), 0);
  const minute = Math.round((begin - Date.parse(load.from)) / kMinute);
  const before = load.minutes.reduce((last, runs, at) => (runs > 0 && at < minute ? at : last), -1);
  const behind = load.minutes.findIndex((runs, at) => runs > 0 && at > minute);
  return (
    <Panel
      title={`Jobs that start at ${timeAt(load, minute)}`}
      beside={<>{before >= 0 && <A replace href={minuteAt(load, before)}>← {timeAt(load, before).slice(11)}</A>}{behind >= 0 && <A replace href={minuteAt(load, behind)}>{timeAt(load, behind).slice(11)} →</A>}</>}
    >
      <Waiting error={jobs.error} has={jobs.data !== undefined} />
      {jobs.data?.found.length === 0 && <Empty>No job was found. When a job with `after DURATION` starts depends on the end of its run.</Empty>}
      {jobs.data && jobs.data.found.length > 0 && (
        <List
          name="Jobs of the minute"
          rows={jobs.data.found}
          id={({ job }) => job.name}
          columns={[
            { name: 'Job', cell: ({ job }) => <A href={jobAt(job.name)}>{job.name}</A> },
            { name: 'First start', cell: ({ first }) => instant(first) },
            { name: 'Starts', right: true, cell: ({ starts, more }) => `${count(starts)}${more ? ' or more' : ''}` },
            { name: 'Schedule', class: 'key', cell: ({ job }) => <>{job.schedule}{job.zone && ` (${job.zone})`}</> },
            { name: 'Handler', class: 'key', cell: ({ job }) => job.handler },
          ]}
        />
      )}
      {jobs.data?.isCut && <p class="note">There are too many jobs to ask all of them: some may be missing here.</p>}
    </Panel>
  );
}

export function NextHours() {
  const isDay = place.value.query.get('of') === 'day';
  const begin = Date.parse(place.value.query.get('at') ?? '');
  const load = useLoad(isDay ? kDay : kHour);
  const peaks = (load.data?.minutes ?? []).map((runs, minute) => ({ runs, minute })).filter(({ runs }) => runs > 0).sort((a, b) => b.runs - a.runs).slice(0, 5);
  const all = load.data?.minutes.reduce((sum, runs) => sum + runs, 0) ?? 0;
  return (
    <Page title="Next hours" beside={<A href={to(['jobs'])}>all jobs</A>}>
      <Panel>
        <div class="bar-of-tools">
          <Choice label="Of" value={isDay ? 'day' : 'hour'} values={[['hour', 'the next hour'], ['day', 'the next day']]} change={(value) => setQuery('of', value === 'day' ? 'day' : '')} />
        </div>
        {isUnknown(load.error) ? <p class="message">This daemon runs no jobs.</p> : <Waiting error={load.error} has={load.data !== undefined} />}
        {load.data && <LoadBars load={load.data} chosen={Math.round((begin - Date.parse(load.data.from)) / kMinute)} />}
        {load.data && (
          <p>
            {counted(all, 'run')} of {counted(load.data.jobs_counted, 'job')}, {(all / Math.max(1, load.data.minutes.length)).toFixed(1)} a minute.
            {load.data.cut_short && ' There are more, which are not counted.'}
          </p>
        )}
        {load.data && all > 0 && Number.isNaN(begin) && <p class="note">A bar leads to the jobs that start in its minute.</p>}
      </Panel>
      {load.data && !Number.isNaN(begin) && <Minute begin={begin} load={load.data} />}
      {load.data && (
        <Panel title="Peaks">
          {peaks.length === 0 && <p class="message">No run is planned.</p>}
          <ul class="lines">{peaks.map(({ runs, minute }) => <li><A href={minuteAt(load.data!, minute)}>{timeAt(load.data!, minute)}: {counted(runs, 'run')}</A></li>)}</ul>
          {peaks.length > 0 && <p class="note">Jobs that begin in the same minute may be spread by a random delay, or by another minute.</p>}
        </Panel>
      )}
    </Page>
  );
}
