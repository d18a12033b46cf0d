// What the daemon programs: ports, the use of the data plane's room, tables, differences, the session with zebra, and what a restart would interrupt.
import { useState } from 'preact/hooks';
import { call, mayWrite } from '../api';
import { bytes, count, span } from '../format';
import { Bar, Confirm, Empty, List, Page, Panel, Search, State, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { act, type Polled, usePoll } from '../state';
import { CountsBar, type TableCounts } from './now';

/// All objects are read back for it.
const kReadPatience = 120_000;

interface Port {
  name: string;
  exists: boolean;
  configured: boolean;
  admin_up: boolean;
  carrier: boolean;
  mtu: number;
  carrier_changes: number;
  note?: string;
}
interface Room {
  used: number;
  limit: number | null;
  percent: number | null;
  high: boolean;
}
interface Audit {
  objects: number;
  standing: number;
  repaired: number;
  age_s: number | null;
}
interface Fpm {
  endpoint: string;
  peer: string;
  session_s: number | null;
  resync: string;
  last_end: string;
  sessions: number;
  malformed: number;
  bytes: number;
  frames: number;
  routes: number;
  nexthops: number;
  groups: number;
  waiting: number;
  unwritten: number;
  conflicts: number;
  skipped: Record<string, number>;
}
interface Stats {
  resources: Record<string, Room> | null;
  /// Also an Audit for each kind of object.
  audit: ({ period_s: number; on_drift: string } & Record<string, unknown>) | null;
  fpm: Fpm | null;
}
interface Differences {
  rows: { difference: string; table: string; key: string; wanted: string; actual: string }[];
  differences: number;
  shown: number;
  held_by_others: number;
  fpm_absent: number;
  repaired?: number;
  not_repaired?: number;
}

const kTables = ['ROUTE_TABLE', 'NEXTHOP_GROUP_TABLE', 'NEIGH_TABLE', 'INTF_TABLE', 'PORT_TABLE'];

function Ports() {
  const ports = usePoll('ports', (signal) => call<{ rows: Port[] }>('ports', {}, signal));
  const find = place.value.query.get('find') ?? '';
  const all = ports.data?.rows ?? [];
  const found = all.filter((port) => `${port.name} ${port.note ?? ''}`.toLowerCase().includes(find.toLowerCase()));
  found.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const up = all.filter((port) => port.carrier && port.admin_up).length;
  return (
    <Panel title="Ports" beside={ports.data && <span class="note">{count(up)} of {count(all.length)} up</span>}>
      <div class="bar-of-tools"><Search label="Find a port" value={find} hint="Name, or a part of its note" change={(value) => setQuery('find', value)} /></div>
      <Waiting error={ports.error} has={ports.data !== undefined} />
      {ports.data && found.length === 0 && <Empty>{find ? 'No port matches.' : 'There is no port.'}</Empty>}
      {found.length > 0 && (
        <List
          name="Ports"
          rows={found}
          id={(port) => port.name}
          columns={[
            { name: 'Port', class: 'key', cell: (port) => (port.configured ? <A href={to(['tables', 'PORT_TABLE', port.name])}>{port.name}</A> : port.name) },
            { name: 'Carrier', cell: (port) => <State state={!port.exists ? 'missing' : port.carrier ? 'up' : 'down'} {...(port.exists && !port.admin_up && { kind: 'idle' as const })} /> },
            { name: 'Admin', cell: (port) => <State state={port.admin_up ? 'up' : 'down'} kind={port.admin_up ? 'good' : 'idle'} /> },
            { name: 'MTU', right: true, cell: (port) => port.mtu },
            { name: 'Carrier changes', right: true, cell: (port) => count(port.carrier_changes) },
            { name: 'Note', class: 'text', cell: (port) => [port.note, !port.configured && 'no row of PORT_TABLE asks for it'].filter(Boolean).join('; ') },
          ]}
        />
      )}
    </Panel>
  );
}

function Resources({ rooms }: { rooms: Record<string, Room> }) {
  return (
    <Panel title="Objects that rows hold in the data plane">
      <List
        name="Objects that rows hold in the data plane"
        rows={Object.entries(rooms)}
        id={([name]) => name}
        columns={[
          { name: 'Kind', cell: ([name]) => name },
          { name: 'Used', right: true, cell: ([, room]) => count(room.used) },
          { name: 'Room', right: true, cell: ([, room]) => (room.limit === null ? 'not stated' : count(room.limit)) },
          { name: 'Use', cell: ([, room]) => room.limit !== null && <Bar of={room.limit} format={count} parts={[{ name: 'used', value: room.used, kind: room.high ? 'bad' : 'good' }]} /> },
          { name: '%', right: true, cell: ([, room]) => (room.percent === null ? '' : <>{room.high && <State state="high" kind="bad" />} {room.percent}</>) },
        ]}
      />
    </Panel>
  );
}

function SwitchTables() {
  const tables = usePoll('tables', (signal) => call<{ rows: TableCounts[] }>('tables', {}, signal), 2000);
  const rank = (row: TableCounts) => (kTables.indexOf(row.table) + 1 || kTables.length + 1);
  const shown = tables.data?.rows.filter((row) => row.installed !== undefined && ((row.rows ?? 0) > 0 || kTables.slice(0, 2).includes(row.table))) ?? [];
  shown.sort((a, b) => rank(a) - rank(b));
  return (
    <Panel title="Where rows stand" beside={<A href={to(['tables'])}>all tables</A>}>
      <Waiting error={tables.error} has={tables.data !== undefined} />
      {shown.length > 0 && (
        <List
          name="Where rows stand"
          rows={shown}
          id={(row) => row.table}
          columns={[
            { name: 'Table', cell: (row) => <A href={to(['tables', row.table])}>{row.table}</A> },
            { name: 'Rows', right: true, cell: (row) => count(row.rows) },
            { name: 'State', cell: (row) => <CountsBar row={row} /> },
            { name: 'Installed', right: true, cell: (row) => count(row.installed) },
            { name: 'Not installed', cell: (row) => (['pending', 'waiting', 'withdrawn', 'refused', 'lost', 'rejected'] as const).filter((state) => row[state]).map((state) => `${count(row[state])} ${state}`).join(', ') },
          ]}
        />
      )}
    </Panel>
  );
}

/// What the audits found by themselves. The kinds of objects are the members that have figures.
function auditInWords(audit: NonNullable<Stats['audit']>): string {
  const kinds = Object.values(audit).filter((one): one is Audit => typeof one === 'object' && one !== null && 'standing' in one);
  const sum = (of: 'objects' | 'standing' | 'repaired') => kinds.reduce((all, kind) => all + kind[of], 0);
  const ages = kinds.map((kind) => kind.age_s).filter((age) => age !== null);
  const when = ages.length === 0 ? 'There was no audit yet.' : `The last audit was ${span(Math.max(...ages) * 1000)} ago: ${count(sum('standing'))} of ${count(sum('objects'))} objects differ.`;
  const period = audit.period_s > 0 ? ` It runs every ${span(audit.period_s * 1000)}` : ' It runs only after changes that the kernel reports';
  return `${when}${period}, and ${audit.on_drift === 'repair' ? 'repairs' : 'reports'} what differs. ${count(sum('repaired'))} objects were repaired since the start.`;
}

function Drift({ audit }: { audit: NonNullable<Stats['audit']> }) {
  const [found, setFound] = useState<Differences>();
  const [busy, setBusy] = useState(false);
  const [asks, setAsks] = useState(false);
  const compare = async () => {
    setBusy(true);
    await act('The data plane was compared with the rows', async () => setFound(await call<Differences>('diff', {}, undefined, kReadPatience)));
    setBusy(false);
  };
  const repair = async () => {
    setFound(await call<Differences>('resync', {}, undefined, kReadPatience));
    return 'The repair has ended: its counts are on the page';
  };
  return (
    <Panel
      title="Differences between the data plane and the rows"
      beside={
        <>
          <button onClick={() => void compare()} disabled={busy} title="Reads back everything that the data plane has">{busy ? 'Comparing…' : 'Compare now'}</button>
          {mayWrite() && <button onClick={() => setAsks(true)} disabled={busy}>Repair…</button>}
        </>
      }
    >
      <p class="note">{auditInWords(audit)}</p>
      {found && (
        <p class={`message ${found.differences > 0 && found.repaired === undefined ? 'bad' : ''}`} role="status">
          {found.differences === 0 ? 'Nothing differs.' : `Objects that differ: ${count(found.differences)}${found.repaired === undefined ? '' : `; repaired: ${count(found.repaired)}, not repaired: ${count(found.not_repaired)}`}.`}
          {found.shown < found.differences && ` The first ${count(found.shown)} are shown.`}
          {found.held_by_others > 0 && ` Rows that stay out because another program has their place: ${count(found.held_by_others)}.`}
          {found.fpm_absent > 0 && ` Routes of zebra that the data plane lacks: ${count(found.fpm_absent)}.`}
        </p>
      )}
      {found && found.rows.length > 0 && (
        <List
          name="Differences"
          rows={found.rows.map((row, i) => ({ ...row, i }))}
          id={(row) => String(row.i)}
          columns={[
            { name: 'Difference', cell: (row) => <State state={row.difference} kind={row.difference === 'missing' ? 'bad' : 'warn'} /> },
            { name: 'Row', class: 'key', cell: (row) => (row.table ? <A href={to(['tables', row.table, row.key])}>{row.table} {row.key}</A> : 'no row asks for it') },
            { name: 'Wanted', class: 'text key', cell: (row) => row.wanted },
            { name: 'Actual', class: 'text key', cell: (row) => row.actual },
          ]}
        />
      )}
      {asks && (
        <Confirm title="Repair the data plane?" verb="Repair" danger close={() => setAsks(false)} confirm={repair}>
          <p>Everything is read back. What rows ask for and the data plane lacks is ordered again; what carries the mark of this rondod and no row asks for is deleted.</p>
        </Confirm>
      )}
    </Panel>
  );
}

function FpmSession({ fpm }: { fpm: Fpm | null }) {
  if (!fpm) return <Panel title="FPM session"><Empty>No FPM server is configured: routes come from the tables alone.</Empty></Panel>;
  const skipped = Object.entries(fpm.skipped).filter(([, messages]) => messages > 0);
  return (
    <Panel title="FPM session" beside={<State state={fpm.session_s === null ? 'no session' : 'connected'} kind={fpm.session_s === null ? 'warn' : 'good'} />}>
      <dl class="facts">
        <dt>Listens at</dt><dd class="mono">{fpm.endpoint}</dd>
        {fpm.session_s !== null && <><dt>Peer</dt><dd>{fpm.peer}, for {span(fpm.session_s * 1000)}</dd></>}
        <dt>Resync</dt><dd>{fpm.resync}</dd>
        <dt>Sessions</dt><dd>{count(fpm.sessions)}{fpm.last_end && `, the last one ended: ${fpm.last_end}`}</dd>
        <dt>Received</dt><dd>{count(fpm.frames)} frames, {bytes(fpm.bytes)}{fpm.malformed > 0 && `, ${count(fpm.malformed)} malformed`}</dd>
        <dt>Holds</dt><dd>{count(fpm.routes)} routes, {count(fpm.nexthops)} next hops, {count(fpm.groups)} groups</dd>
        <dt>Not yet written</dt><dd>{count(fpm.waiting + fpm.unwritten)}{fpm.conflicts > 0 && `; ${count(fpm.conflicts)} routes stay out because another writer has their row`}</dd>
        <dt>Skipped</dt><dd>{skipped.map(([why, messages]) => `${why.replace(/_/g, ' ')}: ${count(messages)}`).join(', ') || 'nothing'}</dd>
      </dl>
    </Panel>
  );
}

/// Shown while the safety stop holds deletions. Only health has their list: confirm answers it after they went on.
function Held() {
  const health = usePoll('health', (signal) => call<{ troubles: string[] }>('health', {}, signal), 2000);
  const [asks, setAsks] = useState(false);
  const held = health.data?.troubles.filter((text) => /^held: /i.test(text)) ?? [];
  if (held.length === 0) return null;
  const list = <ul class="lines">{held.map((text) => <li class="bad">{text}</li>)}</ul>;
  return (
    <Panel title="The safety stop holds deletions" beside={mayWrite() && <button onClick={() => setAsks(true)}>Delete them…</button>}>
      {list}
      {asks && (
        <Confirm
          title="Let the deletions go on?"
          verb="Delete"
          danger
          close={() => setAsks(false)}
          confirm={async () => {
            await call('confirm');
            health.refresh();
            return 'The deletions go on';
          }}
        >
          {list}
          <p>No row asks for these objects. Check first that their rows were removed on purpose: an empty or damaged store looks the same.</p>
        </Confirm>
      )}
    </Panel>
  );
}

function RestartCheck() {
  const check = usePoll('restart-check', (signal) => call<{ ready: boolean; rows: { count: number; what: string }[] }>('restart-check', {}, signal), 5000);
  return (
    <Panel title="A restart now" beside={check.data && <State state={check.data.ready ? 'interrupts nothing' : 'interrupts work'} kind={check.data.ready ? 'good' : 'warn'} />}>
      <Waiting error={check.error} has={check.data !== undefined} />
      {check.data?.rows.length === 0 && <Empty>No work is under way that a restart would interrupt.</Empty>}
      <ul class="lines">{check.data?.rows.map((row) => <li class="warn">{count(row.count)} {row.what}</li>)}</ul>
    </Panel>
  );
}

function Plane({ stats }: { stats: Polled<Stats> }) {
  return (
    <>
      <Held />
      <Ports />
      <div class="panels">
        <SwitchTables />
        {stats.data?.resources && <Resources rooms={stats.data.resources} />}
      </div>
      {stats.data?.audit && <Drift audit={stats.data.audit} />}
    </>
  );
}

export function Switch() {
  const config = usePoll('config', (signal) => call<{ dataplane: { kind: string } }>('config', {}, signal), 0);
  const stats = usePoll('stats', (signal) => call<Stats>('stats', {}, signal), 2000);
  const kind = config.data?.dataplane.kind;
  return (
    <Page title="Switch" live beside={kind && kind !== 'none' && <span class="note">data plane: {kind}</span>}>
      <Waiting error={config.error ?? stats.error} has={config.data !== undefined} />
      {kind === 'none' && <Panel><Empty>This rondod has no data plane: it only runs jobs.</Empty></Panel>}
      {kind && kind !== 'none' && <Plane stats={stats} />}
      {kind && (
        <div class="panels">
          {kind !== 'none' && stats.data && <FpmSession fpm={stats.data.fpm} />}
          <RestartCheck />
        </div>
      )}
    </Page>
  );
}
