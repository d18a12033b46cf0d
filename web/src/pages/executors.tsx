// Who carries out runs: executors by group, and workers.
import { useState } from 'preact/hooks';
import { call, mayWrite, session } from '../api';
import { away, count, instant, span } from '../format';
import { Bar, Confirm, Empty, List, Page, Panel, State, Waiting } from '../parts/parts';
import { usePoll } from '../state';

interface Executor {
  group: string;
  address: string;
  protocol: string;
  registers: boolean;
  usable: boolean;
  drained: boolean;
  runs: number;
  accepted: number;
  refused: number;
  heard_ms_ago?: number;
  trouble?: string;
}
interface Worker {
  worker: string;
  connected: boolean;
  since: string | null;
  commands: Record<string, number>;
  places: number;
  free: number;
  runs: number;
  running: { run: number; command: string; job?: string }[];
  heard_ms: number;
  trouble?: string;
}

function stateOf(executor: Executor): string {
  if (executor.drained) return executor.runs > 0 ? 'draining' : 'drained';
  return executor.usable ? 'up' : executor.trouble ? 'down' : 'late';
}

/// Why it gets no run.
function whyNot(executor: Executor): string {
  if (executor.drained) return 'it was told to drain';
  if (executor.trouble) return executor.trouble;
  if (executor.usable) return '';
  return executor.heard_ms_ago === undefined ? 'it has not answered yet' : 'its registration is too old';
}

function Drain({ executor, close, done }: { executor: Executor; close: () => void; done: () => void }) {
  const { group, address, drained, runs } = executor;
  return (
    <Confirm
      title={drained ? `Give runs to ${address} again?` : `Give ${address} no further run?`}
      verb={drained ? 'Resume' : 'Drain'}
      close={close}
      confirm={async () => {
        await call('executor-drain', { group, address, resume: drained ? 'yes' : undefined });
        done();
        return drained ? `${address} gets runs again` : `${address} gets no further run`;
      }}
    >
      <p>{drained ? `It is one of the executors of ${group} again.` : `Its runs (${count(runs)}) go on. New runs go to the other executors of ${group}.`}</p>
    </Confirm>
  );
}

function Executors() {
  const executors = usePoll('executors', (signal) => call<{ rows: Executor[] }>('executors', {}, signal), 2000);
  // Groups of the configuration in which no executor has registered are shown, too.
  const only = session.value?.group;
  const config = usePoll('config', async (signal) => (only ? undefined : call<{ executors: { group?: { name: string }[] } }>('config', {}, signal)), 0);
  const [asked, setAsked] = useState<Executor>();
  const rows = executors.data?.rows ?? [];
  const groups = [...new Set([...(only ? [only] : []), ...(config.data?.executors.group ?? []).map((group) => group.name), ...rows.map((row) => row.group)])].sort();
  return (
    <>
      {(executors.error || !executors.data) && <Panel title="Executors"><Waiting error={executors.error} has={false} /></Panel>}
      {executors.data && groups.map((group) => {
        const own = rows.filter((row) => row.group === group);
        return (
          <Panel key={group} title={`Group ${group}`} beside={<span class="note">{count(own.filter((row) => row.usable).length)} of {count(own.length)} get runs</span>}>
            {own.length === 0 && <Empty>No executor has registered, and the configuration names none.</Empty>}
            {own.length > 0 && (
              <List
                name={`Executors of ${group}`}
                rows={own}
                id={(row) => row.address}
                columns={[
                  { name: 'Address', class: 'key', cell: (row) => row.address },
                  { name: 'State', cell: (row) => <State state={stateOf(row)} /> },
                  { name: 'Runs', right: true, cell: (row) => count(row.runs) },
                  { name: 'Accepted', right: true, cell: (row) => count(row.accepted) },
                  { name: 'Refused', right: true, cell: (row) => count(row.refused) },
                  { name: 'Heard', right: true, cell: (row) => (row.heard_ms_ago === undefined ? 'never' : `${span(row.heard_ms_ago)} ago`) },
                  { name: 'Protocol', cell: (row) => `${row.protocol}${row.registers ? '' : ', configured'}` },
                  { name: 'Why it gets no run', class: 'text', cell: whyNot },
                  { name: 'Action', right: true, class: 'actions', cell: (row) => mayWrite() && <button class="row" onClick={() => setAsked(row)}>{row.drained ? 'Resume…' : 'Drain…'}</button> },
                ]}
              />
            )}
          </Panel>
        );
      })}
      {asked && <Drain executor={asked} close={() => setAsked(undefined)} done={executors.refresh} />}
    </>
  );
}

function Workers() {
  const workers = usePoll('workers', (signal) => call<{ rows: Worker[] }>('workers', {}, signal), 2000);
  const rows = workers.data?.rows ?? [];
  return (
    <Panel title="Workers">
      <Waiting error={workers.error} has={workers.data !== undefined} />
      {workers.data && rows.length === 0 && <Empty>No worker has connected. A worker carries out commands on its host.</Empty>}
      {rows.length > 0 && (
        <List
          name="Workers"
          rows={rows}
          id={(row) => row.worker}
          columns={[
            { name: 'Worker', class: 'key', cell: (row) => row.worker },
            { name: 'State', cell: (row) => <State state={row.connected ? 'connected' : 'away'} kind={row.connected ? (row.trouble ? 'bad' : 'good') : 'warn'} /> },
            { name: 'Places in use', cell: (row) => <Bar of={row.places} format={count} parts={[{ name: 'runs', value: row.runs, kind: 'busy' }]} /> },
            { name: 'Runs', right: true, cell: (row) => count(row.runs) },
            { name: 'Free', right: true, cell: (row) => `${count(row.free)} of ${count(row.places)}` },
            { name: 'Commands', class: 'text', cell: (row) => Object.entries(row.commands).map(([name, places]) => `${name} (${places})`).join(', ') },
            { name: 'Connected', cell: (row) => (row.since ? <span title={instant(row.since)}>{away(row.since)}</span> : `away for ${span(row.heard_ms)}`) },
            { name: 'Runs now', class: 'text', cell: (row) => [row.trouble, ...row.running.map((run) => `${run.job ?? run.command} (run ${run.run})`)].filter(Boolean).join(', ') },
          ]}
        />
      )}
    </Panel>
  );
}

export function ExecutorsPage() {
  return (
    <Page title="Executors" live>
      <Executors />
      {!session.value?.group && <Workers />}
    </Page>
  );
}
