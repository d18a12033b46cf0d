// The runs that failed lately, one line a job.
import { count, instant } from '../format';
import { useLivePages } from '../parts/live_pages';
import { Choice, List, Page, Panel, State, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { failures, jobAt, kDay, kHour, type Run, runAt } from './jobs_data';

const kTimes = [['hour', 'the last hour'], ['night', 'the night'], ['day', 'the last day'], ['week', 'the last week']] as const;
type Time = (typeof kTimes)[number][0];
/// Runs of a line that are links.
const kLinks = 5;

function begin(time: Time): number {
  if (time === 'hour') return Date.now() - kHour;
  if (time === 'day') return Date.now() - kDay;
  if (time === 'week') return Date.now() - 7 * kDay;
  // Since six in the evening, of yesterday unless it is later.
  const evening = new Date();
  if (evening.getHours() < 18) evening.setDate(evening.getDate() - 1);
  return evening.setHours(18, 0, 0, 0);
}

/// The jobs with their failed runs, in the order of the newest.
export function byJob(runs: Run[]): { job: string; runs: Run[] }[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) groups.set(run.job ?? '', [...(groups.get(run.job ?? '') ?? []), run]);
  return [...groups].map(([job, of]) => ({ job, runs: of }));
}

export function Failures() {
  const asked = place.value.query.get('since') as Time | null;
  const since = kTimes.find(([time]) => time === asked)?.[0] ?? 'day';
  const failed = useLivePages<Run>(`failures ${since}`, (before, signal) => failures(begin(since), before, signal), (a, b) => b.run - a.run, 5000);
  const groups = byJob(failed.rows);
  return (
    <Page title="What failed" live beside={<A href={to(['jobs'])}>all jobs</A>}>
      <Panel>
        <div class="bar-of-tools">
          <Choice label="In" value={since} values={kTimes} change={(value) => setQuery('since', value)} />
          {failed.has && <span class="note">{count(failed.rows.length)}{failed.more ? ' or more' : ''} failed runs of {count(groups.length)} jobs</span>}
        </div>
        <Waiting error={failed.error} has={failed.has} />
        {failed.has && groups.length === 0 && <p class="message">No run has failed in this time.</p>}
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
