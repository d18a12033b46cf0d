// The schedulers on one database of jobs: the one that owns the 64 shards of the jobs, and the one that answers.
import { call } from '../api';
import { away, count, instant } from '../format';
import { Bar, Empty, type Kind, List, Page, Panel, State, Waiting } from '../parts/parts';
import { usePoll } from '../state';

interface Scheduler {
  name: string;
  shards: number;
  state: 'owner' | 'expired' | 'standby';
  since: string | null;
  until: string | null;
  this: boolean;
}

const kShards = 64;
const kKinds: Record<Scheduler['state'], Kind> = { owner: 'good', expired: 'bad', standby: 'idle' };

/** "process 123 on host, http://host:8700": the console of another scheduler is a link. */
function Name({ of }: { of: Scheduler }) {
  const [, process, address] = /^(.*), (https?:\/\/[^\s/]+)$/.exec(of.name) ?? [];
  // Another host's loopback is not this browser's.
  const isLoopback = (host: string) => /^(127\.|localhost$|\[::1\]$)/.test(host);
  if (of.this || !address || (isLoopback(new URL(address).hostname) && !isLoopback(location.hostname))) return <>{of.name}</>;
  return <>{process}, <a href={`${address}/console/schedulers`} rel="noreferrer">{address}</a></>;
}

export function Schedulers() {
  const schedulers = usePoll('job-schedulers', (signal) => call<{ rows: Scheduler[] }>('job-schedulers', {}, signal), 2000);
  const rows = schedulers.data?.rows ?? [];
  const owned = rows.filter((row) => row.state === 'owner').reduce((sum, row) => sum + row.shards, 0);
  // Jobs in a file have one scheduler, without a lease.
  const alone = rows.length === 1 && rows[0]!.this && rows[0]!.since === null;
  return (
    <Page title="Schedulers" live>
      <Panel>
        <Waiting error={schedulers.error} has={schedulers.data !== undefined} />
        {alone && <Empty>The jobs are in a file of this rondod, which is their only scheduler. With a PostgreSQL or MariaDB database, another scheduler takes the jobs over when this one fails.</Empty>}
        {schedulers.data && !alone && (
          <p class={`message ${owned < kShards ? 'bad' : ''}`} role="status">
            {owned < kShards ? `${count(kShards - owned)} of ${kShards} shards have no owner: their jobs do not fire until a scheduler takes them.` : `All ${kShards} shards have an owner.`}
          </p>
        )}
        {rows.length > 0 && (
          <List
            name="Schedulers"
            rows={rows}
            id={(row) => row.name}
            columns={[
              { name: 'Scheduler', class: 'key', cell: (row) => <Name of={row} /> },
              { name: 'Here', cell: (row) => (row.this ? 'answers you' : '') },
              { name: 'State', cell: (row) => <State state={row.state} kind={kKinds[row.state]} /> },
              { name: 'Shards', right: true, cell: (row) => `${row.shards} of ${kShards}` },
              { name: 'Part of the jobs', cell: (row) => <Bar of={kShards} parts={[{ name: row.state === 'expired' ? 'shards that it had' : 'shards', value: row.shards, kind: kKinds[row.state] }]} /> },
              { name: 'Since', cell: (row) => instant(row.since) },
              { name: 'Lease ends', cell: (row) => (row.until ? <span title={instant(row.until)}>{away(row.until)}</span> : '–') },
            ]}
          />
        )}
      </Panel>
    </Page>
  );
}
