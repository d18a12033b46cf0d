// The part of the first page about jobs.
import { call } from '../api';
import { serverTime } from '../clock';
import { count, instant, span } from '../format';
import { Empty, Figure, List, Panel, Waiting } from '../parts/parts';
import { A, to } from '../router';
import { usePoll } from '../state';
import { byJob } from './failures';
import { failures, isUnknown, jobAt, kDay, kHour, runAt } from './jobs_data';
import { LoadBars, useLoad } from './load';

interface Stats {
  healthy: boolean;
  trouble: string;
  planned: number;
  succeeded: number;
  failed: number;
  late_us_p99: number;
  pending: number;
  running: number;
}

const kLate = 1_000_000;
const kShown = 5;

export function NowJobs() {
  const stats = usePoll('job-stats', (signal) => call<Stats>('job-stats', {}, signal), 2000);
  // A daemon without jobs does not know the command.
  return isUnknown(stats.error) ? null : <Known stats={stats.data} error={stats.error} />;
}

function Known({ stats, error }: { stats: Stats | undefined; error: ReturnType<typeof usePoll>['error'] }) {
  const failed = usePoll('newest failures', (signal) => failures(serverTime() - kDay, undefined, signal, 50), 5000);
  const load = useLoad(kHour);
  const groups = byJob(failed.data?.rows ?? []).slice(0, kShown);
  return (
    <Panel title="Jobs" beside={<><A href={to(['jobs'])}>all</A><A href={to(['jobs'], { view: 'failures' })}>what failed</A></>}>
      <Waiting error={error} has={stats !== undefined} />
      {stats && (
        <>
          {!stats.healthy && <p class="message bad">{stats.trouble}</p>}
          <div class="figures">
            <Figure name="Planned" note={`${count(stats.running)} running, ${count(Math.max(0, stats.pending - stats.running))} due`}>{count(stats.planned)}</Figure>
            <Figure name="Succeeded">{count(stats.succeeded)}</Figure>
            <Figure name="Failed" kind={stats.failed ? 'bad' : 'idle'}>{count(stats.failed)}</Figure>
            <Figure name="Late, p99" kind={stats.late_us_p99 > kLate ? 'warn' : 'idle'}>{span(stats.late_us_p99 / 1000)}</Figure>
          </div>
        </>
      )}
      {failed.data && groups.length === 0 && <Empty>No run has failed in the last day.</Empty>}
      {groups.length > 0 && (
        <List
          name="Newest failures"
          rows={groups}
          id={(group) => group.job}
          columns={[
            { name: 'Failed', cell: (group) => <A href={jobAt(group.job)}>{group.job}</A> },
            { name: 'Last', cell: ({ job, runs }) => <A href={runAt(job, runs[0]!.run)}>{instant(runs[0]!.ended)}</A> },
            { name: 'Why', class: 'text', cell: (group) => group.runs[0]!.note },
          ]}
        />
      )}
      {load.data && <><h3><A href={to(['jobs'], { view: 'hours' })}>Runs in the next hour</A></h3><LoadBars load={load.data} /></>}
    </Panel>
  );
}
