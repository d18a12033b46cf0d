// The runs that failed lately, one line a job.
import { serverTime } from '../clock';
import { count, counted, instant, kLocalZone } from '../format';
import { useLivePages } from '../parts/live_pages';
import type { Rows } from '../parts/paged';
import { Choice, List, Page, Panel, State, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { zone } from '../state';
import { failures, jobAt, kDay, kHour, type Run, runAt } from './jobs_data';

const kTimes = [['hour', 'the last hour'], ['night', 'last night'], ['day', 'the last day'], ['week', 'the last week']] as const;
type Time = (typeof kTimes)[number][0];
const kLengths = { hour: kHour, day: kDay, week: 7 * kDay };
/// Pages of runs that an answer may skip because they ended after the night.
const kSkipped = 10;
/// Runs of a line that are links.
const kLinks = 5;

/// From six in yesterday's evening to eight in today's morning, in the zone that the reader has chosen.
function night(): { from: number; until: number } {
  const evening = new Date(serverTime());
  const morning = new Date(serverTime());
  if (zone.value === 'utc') {
    evening.setUTCDate(evening.getUTCDate() - 1);
    return { from: evening.setUTCHours(18, 0, 0, 0), until: morning.setUTCHours(8, 0, 0, 0) };
  }
  evening.setDate(evening.getDate() - 1);
  return { from: evening.setHours(18, 0, 0, 0), until: morning.setHours(8, 0, 0, 0) };
}

/// Failed runs that ended before 'until'. rondod lists them from the newest on, so later ones are skipped here.
async function failuresUntil(from: number, until: number, before: string | undefined, abort: AbortSignal): Promise<Rows<Run>> {
  let page = await failures(from, before, abort);
  for (let i = 0; ; ++i) {
    const rows = page.rows.filter((run) => run.ended && Date.parse(run.ended) < until);
    if (rows.length > 0 || page.next === undefined || i === kSkipped) return { ...page, rows };
    page = await failures(from, page.next, abort);
  }
}

/// The jobs with their failed runs, in the order of the newest.
export function byJob(runs: Run[]): { job: string; runs: Run[] }[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(run.job ?? '', [...(groups.get(run.job ?? '') ?? []), run]);
  return [...groups].map(([job, of]) => ({ job, runs: of }));
}

const shortly = (ms: number) => instant(new Date(ms).toISOString()).slice(0, 16);

export function Failures() {
  const asked = place.value.query.get('since') as Time | null;
  const since = kTimes.find(([time]) => time === asked)?.[0] ?? 'day';
  const { from, until } = since === 'night' ? night() : { from: serverTime() - kLengths[since], until: Infinity };
  const isOver = until < serverTime();
  const key = `failures ${since} ${since === 'night' ? from : ''}`;
  const failed = useLivePages<Run>(key, (before, signal) => failuresUntil(from, until, before, signal), (a, b) => b.run - a.run, isOver ? 0 : 5000);
  const groups = byJob(failed.rows);
  return (
    <Page title="What failed" live beside={<A href={to(['jobs'])}>all jobs</A>}>
      <Panel>
        <div class="bar-of-tools">
          <Choice label="In" value={since} values={kTimes} change={(value) => setQuery('since', value)} />
          <span class="note">{shortly(from)} to {isOver ? shortly(until) : 'now'}, {zone.value === 'utc' ? 'UTC' : kLocalZone}</span>
          {failed.has && <span class="note">{failed.hasMore && 'At least '}{counted(failed.rows.length, 'failed run')} of {counted(groups.length, 'job')}</span>}
        </div>
        <Waiting error={failed.error} has={failed.has} />
        {failed.has && groups.length === 0 && <p class="message">{failed.hasMore ? 'Nothing was found so far.' : 'No run has failed in this time.'}</p>}
        {groups.length > 0 && (
          <List
            name="What failed"
            rows={groups}
            id={(group) => group.job}
            columns={[
              { name: 'Job', cell: (group) => <A href={jobAt(group.job)}>{group.job}</A> },
              { name: 'Times', right: true, cell: (group) => count(group.runs.length) },
              { name: 'Last', cell: (group) => instant(group.runs[0]!.ended) },
              { name: 'State', cell: (group) => <State state={group.runs[0]!.state} /> },
              { name: 'Runs', cell: ({ job, runs }) => <>{runs.slice(0, kLinks).map(({ run }, i) => <>{i > 0 && ' '}<A href={runAt(job, run)}>{run}</A></>)}{runs.length > kLinks && ' …'}</> },
              { name: 'Why', class: 'text', cell: (group) => group.runs[0]!.note },
            ]}
          />
        )}
        <div class="more">{failed.more && <button onClick={failed.more}>Older</button>}</div>
      </Panel>
    </Page>
  );
}
