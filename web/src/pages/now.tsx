// What is wrong now, and what the daemon does. Each line leads to the page that says more.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { call } from '../api';
import { serverTime } from '../clock';
import { bytes, count, counted, short, span } from '../format';
import { Chart } from '../parts/chart';
import { Bar, Empty, Figure, type Kind, List, Page, Panel, State, Waiting } from '../parts/parts';
import { A, to } from '../router';
import { usePoll } from '../state';
import { NowJobs } from './now_jobs';

export interface Health {
  healthy: boolean;
  troubles: string[];
  notes: string[];
}
/// The state of the daemon in a word or two: notes alone are no trouble, and not all is well.
export function headline({ troubles, notes }: Pick<Health, 'troubles' | 'notes'>): { kind: Kind; text: string } {
  const kind = troubles.length > 0 ? 'bad' : notes.length > 0 ? 'warn' : 'good';
  const lists = [[troubles, 'trouble'], [notes, 'note']] as const;
  return { kind, text: lists.filter(([list]) => list.length > 0).map(([list, noun]) => counted(list.length, noun)).join(', ') || 'healthy' };
}
export interface Source {
  name: string;
  priority: number;
  state: string;
  turns: number;
  depth: number;
  ran_us: number;
  longest_us: number;
  waiting_us: number;
  wait_bound_us: number | null;
  busy_us: number;
}
interface Fact {
  kind: string;
  key: string;
  table: string;
  rows: number;
  has_provider: boolean;
  oldest_ms: number;
}
interface Top {
  at_us: number;
  turns: number;
  long_turns: number;
  longest_turn_us: number;
  quarantined: number;
  rss_bytes: number;
  facts: Fact[];
  tables: { table: string; taken: number; done: number; parked: number; queued: number; in_flight: number }[];
  dataplane?: { kind: string; applied: number; failed: number; in_flight: number };
  rows: Source[];
}
export interface TableCounts {
  table: string;
  kind: string;
  rows: number | null;
  staged: number;
  installed?: number;
  pending?: number;
  waiting?: number;
  withdrawn?: number;
  refused?: number;
  lost?: number;
  rejected?: number;
}

const kKept = 180;
/// Seconds between two answers, after which their difference is no rate of now.
const kGap = 5;

interface Rates {
  last?: Top;
  times: number[];
  turns: (number | null)[];
  done: (number | null)[];
  orders: (number | null)[];
}
/// They stay while the reader looks at other pages.
const rates = signal<Rates>({ times: [], turns: [], done: [], orders: [] });

function sum(top: Top, of: 'done' | 'parked' | 'queued' | 'in_flight'): number {
  return top.tables.reduce((all, table) => all + table[of], 0);
}

function note(top: Top) {
  const { last, times, turns, done, orders } = rates.value;
  const seconds = last ? (top.at_us - last.at_us) / 1e6 : 0;
  if (!last || seconds <= 0 || top.turns < last.turns) {
    rates.value = { last: top, times: [], turns: [], done: [], orders: [] };
    return;
  }
  const now = serverTime() / 1000;
  // Nothing was measured while the page was hidden, or the daemon gave no answer.
  const isGap = seconds > kGap;
  const add = <T,>(list: T[], value: T, gap: T) => [...list, ...(isGap ? [gap, value] : [value])].slice(-kKept);
  const rate = (value: number) => value / seconds;
  rates.value = {
    last: top,
    times: add(times, now, now - seconds + 0.5),
    turns: add<number | null>(turns, isGap ? null : rate(top.turns - last.turns), null),
    done: add<number | null>(done, isGap ? null : rate(sum(top, 'done') - sum(last, 'done')), null),
    orders: add<number | null>(orders, isGap ? null : rate((top.dataplane?.applied ?? 0) - (last.dataplane?.applied ?? 0)), null),
  };
}

/// The page that says more about a trouble.
function leads(text: string): string {
  const table = /\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/.exec(text)?.[0];
  if (/executor|worker/i.test(text)) return to(['executors']);
  if (/scheduler/i.test(text)) return to(['schedulers']);
  if (/\bjob|\brun(s)?\b/i.test(text)) return to(['jobs']);
  if (/reject/i.test(text)) return to(table ? ['tables', table] : ['tables'], { show: 'rejected' });
  if (/parked|\bwait/i.test(text)) return to(['parked'], { table });
  if (/quarantine|turn/i.test(text)) return to(['turns']);
  if (/port|carrier|drift|data plane|kernel|fpm|zebra/i.test(text)) return to(['switch']);
  return to(['log']);
}

/// The bar of a table's rows by state.
export function CountsBar({ row }: { row: TableCounts }) {
  const rows = row.rows ?? 0;
  const installed = row.installed ?? Math.max(0, rows - (row.waiting ?? 0) - (row.rejected ?? 0) - (row.pending ?? 0));
  return (
    <Bar
      of={rows}
      format={count}
      parts={[
        { name: row.installed === undefined ? 'done' : 'installed', value: installed, kind: 'good' },
        { name: 'pending', value: row.pending ?? 0, kind: 'busy' },
        { name: 'waiting', value: row.waiting ?? 0, kind: 'warn' },
        { name: 'withdrawn', value: row.withdrawn ?? 0, kind: 'warn' },
        { name: 'refused', value: row.refused ?? 0, kind: 'bad' },
        { name: 'lost', value: row.lost ?? 0, kind: 'bad' },
        { name: 'rejected', value: row.rejected ?? 0, kind: 'bad' },
      ]}
    />
  );
}

export function Now() {
  const health = usePoll('health', (signal) => call<Health>('health', {}, signal));
  const top = usePoll('top', (signal) => call<Top>('top', {}, signal));
  const tables = usePoll('tables', (signal) => call<{ rows: TableCounts[] }>('tables', {}, signal), 2000);
  useEffect(() => {
    if (top.data) note(top.data);
  }, [top.data]);
  const { times, turns, done, orders } = rates.value;
  const said = health.data && headline(health.data);
  const parked = top.data ? sum(top.data, 'parked') : 0;
  const waits = Math.max(0, ...(top.data?.rows.map((source) => source.waiting_us) ?? []));
  return (
    <Page title="Now" live>
      <Panel title="What is wrong" beside={said && <State state={said.text} kind={said.kind} />}>
        <Waiting error={health.error} has={health.data !== undefined} />
        {health.data && (
          <ul class="lines">
            {health.data.troubles.map((text) => <li class="bad"><A href={leads(text)}>{text}</A></li>)}
            {health.data.troubles.length + health.data.notes.length === 0 && <li class="good">Nothing is known to be wrong.</li>}
            {health.data.notes.map((text) => <li class="warn"><A href={leads(text)}>{text}</A></li>)}
          </ul>
        )}
      </Panel>
      {top.data && (
        <div class="figures">
          <Figure name="Turns a second">{short(turns.at(-1) ?? 0)}</Figure>
          <Figure name="Rows done a second">{short(done.at(-1) ?? 0)}</Figure>
          {top.data.dataplane && <Figure name="Orders a second" note={`${count(top.data.dataplane.in_flight)} in flight`}>{short(orders.at(-1) ?? 0)}</Figure>}
          <Figure name="Rows that wait" kind={parked ? 'warn' : 'idle'}><A href={to(['parked'])}>{count(parked)}</A></Figure>
          <Figure name="Longest wait for a turn, now">{span(waits / 1000)}</Figure>
          <Figure name="Longest turn" note={`${count(top.data.long_turns)} over 5 ms`}>{span(top.data.longest_turn_us / 1000)}</Figure>
          <Figure name="Memory">{bytes(top.data.rss_bytes)}</Figure>
        </div>
      )}
      <div class="panels">
        <Panel title="The last minutes">
          {times.length < 2 && <Empty>The rates appear within seconds.</Empty>}
          {times.length >= 2 && <Chart
            seconds={kKept}
            label="Rows done, orders and turns a second, in the last three minutes"
            data={[times, done, orders, turns]}
            lines={[{ name: 'rows done/s', colour: '--accent' }, { name: 'orders/s', colour: '--warn' }, { name: 'turns/s', colour: '--idle' }]}
          />}
        </Panel>
        <Panel title="What rows wait for" beside={<A href={to(['parked'])}>all</A>}>
          {top.data && top.data.facts.length === 0 && <Empty>No row waits for a fact.</Empty>}
          {top.data && top.data.facts.length > 0 && (
            <List
              name="What rows wait for"
              rows={[...top.data.facts].sort((a, b) => b.rows - a.rows).slice(0, 6)}
              id={(fact) => `${fact.kind}:${fact.key}:${fact.table}`}
              columns={[
                { name: 'Fact', class: 'text key', cell: (fact) => <A href={to(['parked'], { kind: fact.kind, key: fact.key, table: fact.table })}>{fact.kind} {fact.key}</A> },
                { name: 'Table', cell: (fact) => fact.table },
                { name: 'Rows', right: true, cell: (fact) => count(fact.rows) },
                { name: 'For', right: true, cell: (fact) => span(fact.oldest_ms) },
              ]}
            />
          )}
        </Panel>
        <Panel title="Tables" beside={<A href={to(['tables'])}>all</A>}>
          <Waiting error={tables.error} has={tables.data !== undefined} />
          {tables.data && (
            <List
              name="Tables"
              rows={tables.data.rows.filter((row) => (row.rows ?? 1) > 0 || row.rejected)}
              id={(row) => row.table}
              columns={[
                { name: 'Table', cell: (row) => <A href={to(['tables', row.table])}>{row.table}</A> },
                { name: 'Rows', right: true, cell: (row) => count(row.rows) },
                { name: 'State', cell: (row) => <CountsBar row={row} /> },
              ]}
            />
          )}
        </Panel>
        <NowJobs />
      </div>
    </Page>
  );
}
