// Which source has turns, when, how long others wait for theirs, and what the policy promises them.
import { useRef } from 'preact/hooks';
import { call } from '../api';
import { count, short, span } from '../format';
import { Bar, Choice, type Column, Empty, Figure, List, Page, Panel, Search, State, Waiting } from '../parts/parts';
import { type Recorded, SourceDot, Strips, type TurnRow } from '../parts/strips';
import { place, setQuery } from '../router';
import { type Polled, usePoll } from '../state';
import type { Source as Busy } from './now';

interface Answer {
  rows: TurnRow[];
  at_us: number;
  recorded_us: number;
  missed: number;
  next: number;
}
interface Source extends Busy {
  longest_wait_us: number;
  wait_p99_us: number;
  quarantine: string;
}
interface Sources {
  rows: Source[];
}
interface Stats {
  scheduler: {
    policy: string;
    quarantined: number;
    longest_turn_us: number;
    long_turns: number;
    stalls: number;
    timed_out_turns: number;
    sweep_rescues: number;
  };
}
interface Settings {
  policy: string;
  tie: string;
  batch: number;
  turn_us: number;
  lowest_budget_us: number;
  highest_budget_us: number;
  budgets_us?: Record<string, number>;
  quota: number;
  quota_unit: string;
  quotas?: Record<string, number>;
}

const kZooms = [['10', '10 s'], ['5', '5 s'], ['1', '1 s']] as const;
/// All that the daemon keeps. A flood has more between two answers: the picture then has gaps.
const kAsked = 8192;
const kKept = 40_000;
const kKept_us = 12e6;

/// Asks for the turns since the last answer, and keeps those of the last seconds.
function useTurns() {
  const recorded = useRef<Recorded>({ turns: [], gaps: [] });
  const clock = useRef<{ next: number | undefined; at_us: number; offset_us: number }>({ next: undefined, at_us: 0, offset_us: 0 });
  const polled = usePoll('turns', (signal) => call<Answer>('turns', { count: kAsked, since: clock.current.next }, signal), 500);
  const add = (answer: Answer, arrived_ms: number) => {
    const { next, at_us } = clock.current;
    const offset_us = answer.at_us - arrived_ms * 1000;
    const restarted = next === undefined || answer.at_us < at_us || answer.next < next;
    const began_us = answer.at_us - answer.recorded_us;
    const { turns, gaps } = restarted ? { turns: [], gaps: [{ from_us: 0, to_us: answer.rows.length < kAsked ? began_us : answer.rows[0]!.start_us, turns: 0 }] } : recorded.current;
    // Answers are late by different times; the least late one tells the most, and the others follow a clock that drifts.
    const late_us = clock.current.offset_us - offset_us;
    clock.current = { next: answer.next, at_us: answer.at_us, offset_us: restarted || late_us < 0 ? offset_us : offset_us + late_us * 0.95 };
    const last = turns.at(-1);
    const gap = answer.missed > 0 && last && { from_us: last.start_us + last.span_us, to_us: answer.rows[0]?.start_us ?? answer.at_us, turns: answer.missed };
    const oldest_us = answer.at_us - kKept_us;
    const all = [...turns, ...answer.rows].filter((turn) => turn.start_us + turn.span_us >= oldest_us);
    const kept = all.slice(-kKept);
    const dropped = kept.length < all.length ? [{ from_us: 0, to_us: kept[0]!.start_us, turns: all.length - kept.length }] : [];
    recorded.current = { turns: kept, gaps: [...dropped, ...gaps, ...(gap ? [gap] : [])].filter((one) => one.to_us >= oldest_us) };
  };
  const seen = useRef(0);
  if (polled.data && polled.at !== seen.current) {
    seen.current = polled.at;
    add(polled.data, polled.at);
  }
  const now = useRef(() => clock.current.offset_us + performance.now() * 1000);
  return { polled, recorded: recorded.current, at_us: clock.current.at_us, now: now.current };
}

interface Share {
  source: string;
  turns: number;
  ran_us: number;
}

/// The sources of these turns, the one that ran longest first.
function shares(turns: TurnRow[]): Share[] {
  const all = new Map<string, Share>();
  for (const turn of turns) {
    // Each call has a connection of its own.
    const source = turn.source.replace(/^(admin:caller)-\d+$/, '$1');
    const one = all.get(source) ?? { source, turns: 0, ran_us: 0 };
    one.turns += turn.turns;
    one.ran_us += turn.ran_us;
    all.set(source, one);
  }
  return [...all.values()].sort((a, b) => b.ran_us - a.ran_us);
}

function Picture({ sources, seconds }: { sources: Source[]; seconds: number }) {
  const { polled, recorded, at_us, now } = useTurns();
  const used = new Set([...sources.filter((source) => source.turns > 0), ...recorded.turns].map((one) => one.priority));
  const visible = recorded.turns.filter((turn) => turn.start_us >= at_us - seconds * 1e6);
  const busiest = shares(visible);
  const turns = visible.reduce((sum, turn) => sum + turn.turns, 0);
  const longest = visible.reduce((most, turn) => Math.max(most, turn.waited_us), 0);
  const gaps = recorded.gaps.filter((gap) => gap.to_us >= at_us - seconds * 1e6);
  const missed = gaps.reduce((sum, gap) => sum + gap.turns, 0);
  const named = (share: Share) => `${share.source || 'sources that are gone'} ${span(share.ran_us / 1000)} in ${count(share.turns)} turns`;
  const label = `Turns of the last ${seconds} seconds: ${count(turns)} turns of ${busiest.length} sources in ${used.size} priorities. Longest wait: ${span(longest / 1000)}. `
    + `Most time: ${busiest.slice(0, 5).map(named).join(', ')}. The arrow keys go from turn to turn; the table below has all sources.`;
  return (
    <Panel
      title={`Turns of the last ${seconds === 1 ? 'second' : `${seconds} seconds`}`}
      beside={<Choice label="Zoom" value={String(seconds)} values={kZooms} change={(value) => setQuery('zoom', value === '10' ? '' : value)} />}
    >
      <Waiting error={polled.error} has={polled.data !== undefined} />
      {polled.data && (
        <>
          <Strips recorded={recorded} priorities={[...used].sort((a, b) => b - a)} seconds={seconds} now={now} label={label} />
          <p class="note legend">
            {busiest.slice(0, 8).map((share) => <span><SourceDot source={share.source} /> {named(share)}</span>)}
            {busiest.length > 8 && <span>and {busiest.length - 8} more</span>}
          </p>
          <p class="note">
            A strip is a priority, the highest on top. A block is a turn; the thin line before it is its wait since its source was ready. A short turn is as wide as a pixel.
            {gaps.length > 0 && ` Hatched time is not on record${missed > 0 ? `: it had at least ${count(missed)} turns` : ''}.`}
          </p>
        </>
      )}
    </Panel>
  );
}

const kTies: Record<string, string> = {
  'least-recently-served': 'the source that was served longest ago goes first',
  arrival: 'the source that became ready first goes first',
  'consumed-time': 'the source that has consumed the least time goes first',
};

function others(name: string, given: Record<string, number> | undefined, unit: (value: number) => string): string {
  const all = Object.entries(given ?? {}).sort(([a], [b]) => Number(b) - Number(a));
  return all.length === 0 ? '' : ` ${name} of their own: ${all.map(([priority, value]) => `${priority}: ${unit(value)}`).join(', ')}.`;
}

/// The policy as sentences.
function inWords(settings: Settings): string {
  const time = (us: number) => span(us / 1000);
  const turn = ` A turn takes at most ${settings.batch} items or ${time(settings.turn_us)}.`;
  const tie = kTies[settings.tie];
  const equal = tie ? ` Among ready sources of one priority ${tie}.` : '';
  switch (settings.policy) {
    case 'frames':
      return `Budgeted frames: the highest priority that has budget left in the frame goes first, so each wait has a bound. In a frame, priority 0 has ${time(settings.lowest_budget_us)} and priority 63 has ${time(settings.highest_budget_us)}; those between grow by equal factors.${others('Priorities with a budget', settings.budgets_us, time)}${equal}${turn}`;
    case 'strict':
      return `Strict: the highest ready priority always goes first. A lower one can wait without a bound.${equal}${turn}`;
    case 'strictly-ordered':
      return `Strictly ordered: the highest ready priority goes first, and within it the oldest work. A lower priority can wait without a bound.${turn}`;
    case 'quoted-round-robin': {
      const unit = (value: number) => (settings.quota_unit === 'items' ? `${value} items` : time(value));
      return `Quoted round robin: each priority has up to ${unit(settings.quota)}, from the highest to the lowest, and again.${others('Priorities with a quota', settings.quotas, unit)}${turn}`;
    }
    default:
      return settings.policy;
  }
}

function Policy() {
  const stats = usePoll('stats', (signal) => call<Stats>('stats', {}, signal), 2000);
  const now = stats.data?.scheduler;
  // A reload of the configuration may change the policy.
  const config = usePoll(`config ${now?.policy}`, (signal) => call<{ scheduler: Settings }>('config', {}, signal), 0);
  return (
    <>
      {now && (
        <div class="figures">
          <Figure name="Longest turn" note={`${count(now.long_turns)} over 5 ms`}>{span(now.longest_turn_us / 1000)}</Figure>
          <Figure name="Turns that ended by time" note="with work left">{count(now.timed_out_turns)}</Figure>
          <Figure name="Stalls" kind={now.stalls ? 'bad' : 'idle'}>{count(now.stalls)}</Figure>
          <Figure name="Sources in quarantine" kind={now.quarantined ? 'bad' : 'idle'}>{count(now.quarantined)}</Figure>
          <Figure name="Lost wakes" kind={now.sweep_rescues ? 'warn' : 'idle'} note="found by the sweep">{count(now.sweep_rescues)}</Figure>
        </div>
      )}
      <Panel title="Policy">
        <p>{config.data ? inWords(config.data.scheduler) : now?.policy ?? '…'}</p>
      </Panel>
    </>
  );
}

interface Rated extends Source {
  /// Turns a second and the share of the time that they took, since the last look; undefined at the first.
  rate?: number;
  share?: number;
}

const idOf = (source: Source) => `${source.priority} ${source.name}`;

/// Adds what happened between the last two answers.
function useRates(polled: Polled<Sources>): Rated[] {
  const last = useRef<{ at: number; rows: Map<string, Source>; rated: Rated[] }>({ at: 0, rows: new Map(), rated: [] });
  if (polled.data && polled.at !== last.current.at) {
    const seconds = (polled.at - last.current.at) / 1000;
    const rated = polled.data.rows.map((row): Rated => {
      const before = last.current.rows.get(idOf(row));
      if (!before || row.turns < before.turns) return row;
      return { ...row, rate: (row.turns - before.turns) / seconds, share: Math.min(1, (row.ran_us - before.ran_us) / 1e6 / seconds) };
    });
    last.current = { at: polled.at, rows: new Map(polled.data.rows.map((row) => [idOf(row), row])), rated };
  }
  return last.current.rated;
}

const kOrders: Record<string, [string, (row: Rated) => number]> = {
  priority: ['priority', (row) => row.priority],
  share: ['busy share', (row) => row.share ?? 0],
  rate: ['turns a second', (row) => row.rate ?? 0],
  wait: ['wait now', (row) => row.waiting_us],
  longest: ['longest wait', (row) => row.longest_wait_us],
  near: ['nearness to the bound', (row) => (row.wait_bound_us ? row.longest_wait_us / row.wait_bound_us : 0)],
  turn: ['longest turn', (row) => row.longest_us],
  name: ['name', () => 0],
};

/// The wait of a source against its bound: now, and the longest ever.
function WaitBar({ row }: { row: Source }) {
  if (row.wait_bound_us === null) return <span class="note">no bound</span>;
  const over = row.longest_wait_us > row.wait_bound_us;
  return (
    <Bar
      of={row.wait_bound_us}
      format={(us) => span(us / 1000)}
      parts={[
        { name: 'waits now', value: row.waiting_us, kind: row.waiting_us > row.wait_bound_us ? 'bad' : 'busy' },
        { name: 'more at its longest wait', value: Math.max(0, row.longest_wait_us - row.waiting_us), kind: over ? 'bad' : 'idle' },
      ]}
    />
  );
}

const kColumns: Column<Rated>[] = [
  { name: 'Source', class: 'key', cell: (row) => <><SourceDot source={row.name} /> {row.name}</> },
  { name: 'Priority', right: true, cell: (row) => row.priority },
  { name: 'State', cell: (row) => <State state={row.state} /> },
  { name: 'Turns/s', right: true, cell: (row) => (row.rate === undefined ? '–' : short(row.rate)) },
  { name: 'Busy', right: true, cell: (row) => (row.share === undefined ? '–' : `${(100 * row.share).toFixed(1)} %`) },
  { name: 'Waits', right: true, cell: (row) => (row.waiting_us ? span(row.waiting_us / 1000) : '') },
  { name: 'Longest wait', right: true, cell: (row) => span(row.longest_wait_us / 1000) },
  { name: 'Of the bound', cell: (row) => <WaitBar row={row} /> },
  { name: 'Bound', right: true, cell: (row) => (row.wait_bound_us === null ? '' : span(row.wait_bound_us / 1000)) },
  { name: 'p99', right: true, cell: (row) => span(row.wait_p99_us / 1000) },
  { name: 'Longest turn', right: true, cell: (row) => span(row.longest_us / 1000) },
  { name: 'Turns', right: true, cell: (row) => count(row.turns) },
  { name: 'Queued', right: true, cell: (row) => (row.depth ? count(row.depth) : '') },
];
const kQuarantine: Column<Rated> = { name: 'Why it is in quarantine', class: 'text', cell: (row) => row.quarantine };

function SourceTable({ polled }: { polled: Polled<Sources> }) {
  const { query } = place.value;
  const find = query.get('find') ?? '';
  const order = query.get('sort') ?? 'priority';
  const all = query.get('show') === 'all';
  const rated = useRates(polled);
  const [, by] = kOrders[order] ?? kOrders.priority!;
  const found = rated.filter((row) => row.name.toLowerCase().includes(find.toLowerCase()) && (all || row.turns > 0 || row.quarantine));
  found.sort((a, b) => by(b) - by(a) || (order === 'name' ? 0 : b.priority - a.priority) || a.name.localeCompare(b.name));
  return (
    <Panel title="Sources">
      <div class="bar-of-tools">
        <Search label="Find a source" value={find} change={(value) => setQuery('find', value)} />
        <Choice label="Sort by" value={order} values={Object.entries(kOrders).map(([name, [text]]) => [name, text] as const)} change={(value) => setQuery('sort', value === 'priority' ? '' : value)} />
        <Choice label="Show" value={all ? 'all' : ''} values={[['', 'those that had a turn'], ['all', 'all']]} change={(value) => setQuery('show', value)} />
        <span class="note">{count(found.length)} of {count(rated.length)} sources. Turns/s and busy are since the last look.</span>
      </div>
      <Waiting error={polled.error} has={polled.data !== undefined} />
      {polled.data && found.length === 0 && <Empty>No source matches.</Empty>}
      {found.length > 0 && <List name="Sources" rows={found} id={idOf} mark={(row) => (row.quarantine ? 'bad' : undefined)} columns={found.some((row) => row.quarantine) ? [...kColumns, kQuarantine] : kColumns} />}
    </Panel>
  );
}

export function Turns() {
  const sources = usePoll('sources', (signal) => call<Sources>('sources', {}, signal), 2000);
  const zoom = place.value.query.get('zoom');
  return (
    <Page title="Turns" live>
      <Picture sources={sources.data?.rows ?? []} seconds={zoom === '1' ? 1 : zoom === '5' ? 5 : 10} />
      <Policy />
      <SourceTable polled={sources} />
    </Page>
  );
}
