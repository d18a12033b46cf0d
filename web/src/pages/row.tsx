// One row: its fields, where it stands, why it waits, and what happens to it from now on.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, call, follow, mayWrite } from '../api';
import { span } from '../format';
import { Confirm, Empty, type Kind, List, Page, Panel, State, Waiting } from '../parts/parts';
import { A, to } from '../router';
import { paused, usePoll } from '../state';
import { RowHistory } from './history';
import { EditRow, type FieldList } from './tables';

interface Fact {
  kind: string;
  key: string;
}
export interface Link {
  table: string;
  key: string;
  state: string;
  plane?: string;
  facts: Fact[];
  missing: number;
  provider: string;
  note: string;
  parent: number;
  op?: string;
  fact?: Fact;
}
export interface Why {
  chain: Link[];
  cycle: boolean;
  cut_short: boolean;
}
interface Row {
  key: string;
  fields?: FieldList;
  state: string;
  plane?: string;
  note: string;
  rows?: [number, string, string][];
}

const kTraced = 500;
/// A trace that rondod has refused or ended is asked for again after so long.
const kAgain_ms = 3000;
/// A step of the page itself: the trace was interrupted.
const kReopened = 'reopened';

/// Joins the parts of a large row.
function fieldsOf(row: Row): FieldList {
  if (row.fields) return row.fields;
  const fields: FieldList = [];
  for (const [number, name, part] of row.rows ?? []) {
    if (number < 0) continue;
    const field = (fields[number] ??= [name, '']);
    field[1] += part;
  }
  return fields;
}

export function RowPage({ table, rowKey }: { table: string; rowKey: string }) {
  const id = `${table} ${rowKey}`;
  const row = usePoll<Row | undefined>(id, async (signal) => {
    try {
      return await call<Row>('get', { table, key: rowKey }, signal);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not-found') return undefined;
      throw error;
    }
  });
  const why = usePoll(id, (signal) => call<Why>('why', { table, key: rowKey }, signal));
  const [dialog, setDialog] = useState<'edit' | 'delete'>();
  const fields = row.data ? fieldsOf(row.data) : [];
  const again = () => {
    row.refresh();
    why.refresh();
  };
  return (
    <Page
      live
      title={<><A href={to(['tables', table])}>{table}</A> <span class="mono">{rowKey}</span></>}
      beside={mayWrite() && (
        <>
          <button onClick={() => setDialog('edit')} disabled={why.data === undefined}>{row.data ? 'Change' : 'Write'}</button>
          <button onClick={() => setDialog('delete')} disabled={!row.data}>Delete</button>
        </>
      )}
    >
      <Panel title="Why" beside={<Status why={why.data} />}>
        <Waiting error={why.error} has={why.data !== undefined} />
        {why.data && <Chain why={why.data} />}
      </Panel>
      <div class="panels">
        <Panel title="Fields">
          <Waiting error={row.error} has={row.at > 0} />
          {row.at > 0 && !row.data && <Empty>No such row was taken. A row that waits or was rejected is shown above.</Empty>}
          {row.data && fields.length === 0 && <Empty>The row has no fields.</Empty>}
          {fields.length > 0 && <dl class="facts mono">{fields.map(([name, value]) => <><dt>{name}</dt><dd>{value}</dd></>)}</dl>}
        </Panel>
        <Trace key={id} table={table} rowKey={rowKey} />
      </div>
      <RowHistory key={id} table={table} rowKey={rowKey} />
      {dialog === 'edit' && <EditRow table={table} rowKey={rowKey} fields={fields} close={() => setDialog(undefined)} done={again} />}
      {dialog === 'delete' && (
        <Confirm
          title={`Delete ${rowKey} of ${table}?`}
          verb="Delete"
          danger
          close={() => setDialog(undefined)}
          confirm={async () => {
            await call('del', { table, key: rowKey });
            again();
            return `${rowKey} was deleted`;
          }}
        >
          <p>The data plane loses what the row asks for. Rows that need it wait until it comes back.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Status({ why }: { why: Why | undefined }) {
  const first = why?.chain[0];
  return first ? <><State state={first.state} />{first.plane && first.plane !== first.state && <State state={first.plane} />}</> : null;
}

function kindOf(link: Link): Kind {
  const state = link.plane ?? link.state;
  if (link.state === 'absent' || link.state === 'rejected' || ['refused', 'lost'].includes(state)) return 'bad';
  if (link.state === 'parked' || ['waiting', 'withdrawn', 'foreign'].includes(state)) return 'warn';
  return ['queued', 'in-flight'].includes(link.state) || state === 'pending' ? 'busy' : 'good';
}

/// The rows of a chain as a tree: below each row are those that would make the facts true that it waits for.
export function Chain({ why }: { why: Why }) {
  if (why.chain.length === 0) return <Empty>Nothing is known about this row.</Empty>;
  const below = (at: number) => why.chain.map((link, i) => ({ link, i })).filter(({ link, i }) => i > 0 && link.parent === at);
  const show = (at: number) => {
    const children = below(at);
    return (
      <>
        <Card link={why.chain[at]!} isEnd={at > 0 && children.length === 0} />
        {children.length > 0 && <ol>{children.map(({ i }) => <li key={i}>{show(i)}</li>)}</ol>}
      </>
    );
  };
  return (
    <>
      <ol class="chain"><li>{show(0)}</li></ol>
      {why.cycle && <p class="message bad">The rows wait for each other: one of them must change.</p>}
      {why.cut_short && <p class="message">The chain goes on: only its first rows are shown.</p>}
    </>
  );
}

function Card({ link, isEnd }: { link: Link; isEnd: boolean }) {
  return (
    <div class={`link ${kindOf(link)} ${isEnd ? 'end' : ''}`}>
      {link.fact && <div class="fact">would make true: <span class="mono">{link.fact.kind} {link.fact.key}</span></div>}
      <div class="what">
        <span class="note">{link.table || 'no table'}</span>
        {link.table ? <A href={to(['tables', link.table, link.key])} class="mono">{link.key}</A> : <span class="mono">{link.key}</span>}
        <State state={link.state} />
        {link.plane && link.plane !== link.state && <State state={link.plane} />}
      </div>
      {link.facts.length > 0 && (
        <div class="fact">
          waits for {link.facts.map((fact, i) => <>{i > 0 && ', '}<A class="mono" href={to(['parked'], { kind: fact.kind, key: fact.key, table: link.table })}>{fact.kind} {fact.key}</A></>)}
          {link.provider ? `, provided by ${link.provider}` : ', which nothing provides'}
        </div>
      )}
      {link.note && <div>{link.note}</div>}
    </div>
  );
}

interface Step {
  what: string;
  at_us: number;
  at?: string;
  changes?: number[];
  op?: string;
  fields?: FieldList;
  facts?: Fact[];
  provider?: string;
  delay_ms?: number;
  why?: string;
  missed?: number;
}

function described(step: Step): string {
  const facts = step.facts?.map((fact) => `${fact.kind} ${fact.key}`).join(', ');
  return [
    step.op,
    step.fields?.map(([name, value]) => `${name}=${value}`).join(' '),
    facts && (step.what === 'resolved' ? facts : `on ${facts}`),
    step.provider && `by ${step.provider}`,
    step.delay_ms !== undefined && `for ${span(step.delay_ms)}`,
    step.why,
    step.missed && `${step.missed} events are missing here`,
  ].filter(Boolean).join(' · ');
}

/// What happens to the row from now on, each step with its time after the one before.
function Trace({ table, rowKey }: { table: string; rowKey: string }) {
  const [steps, setSteps] = useState<Step[]>([]);
  const [ended, setEnded] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const [hidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const seen = () => setHidden(document.hidden);
    document.addEventListener('visibilitychange', seen);
    return () => document.removeEventListener('visibilitychange', seen);
  }, []);
  const stopped = hidden || paused.value;
  useEffect(() => {
    if (stopped) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let leave: () => void;
    const add = (step: Step) => setSteps((old) => [...old.slice(1 - kTraced), step]);
    const opened = () => {
      setOpen(true);
      setEnded(undefined);
      setSteps((old) => (old.length === 0 || old.at(-1)!.what === kReopened ? old : [...old, { what: kReopened, at_us: old.at(-1)!.at_us, why: 'steps before this may be missing' }]));
    };
    const lost = (error?: ApiError) => {
      setOpen(false);
      setEnded(error?.message ?? 'the trace has ended');
      timer = setTimeout(open, kAgain_ms);
    };
    const open = () => (leave = follow<Step>('trace', { table, key: rowKey }, add, lost, opened));
    open();
    return () => {
      clearTimeout(timer);
      leave();
      setOpen(false);
      setEnded(undefined);
    };
  }, [table, rowKey, stopped]);
  return (
    <Panel title="What happens to it from now on" beside={steps.length > 0 && <button class="quiet" onClick={() => setSteps([])}>Clear</button>}>
      {ended && <p class="message bad" role="alert">{ended}. The page tries again every {kAgain_ms / 1000} s.</p>}
      {!ended && !stopped && <Waiting error={undefined} has={isOpen} />}
      {stopped && <Empty>The page is paused: steps do not appear.</Empty>}
      {steps.length === 0 && isOpen && <Empty>Nothing yet. A write of the row, or of one that it needs, appears here step by step.</Empty>}
      {steps.length > 0 && (
        <List
          name="Steps"
          rows={steps.map((step, i) => ({ step, i, after: i === 0 ? 0 : step.at_us - steps[i - 1]!.at_us }))}
          id={({ i }) => String(i)}
          columns={[
            { name: 'Step', cell: ({ step }) => <State state={step.what} kind={{ done: 'good', rejected: 'bad', parked: 'warn', gap: 'bad' }[step.what] as Kind ?? 'idle'} /> },
            { name: 'After', right: true, cell: ({ after, i }) => (i === 0 || after <= 0 ? '' : `+${span(after / 1000)}`) },
            { name: 'What', class: 'text', cell: ({ step }) => described(step) },
            { name: 'Change', class: 'text', cell: ({ step }) => step.changes?.map((change) => `#${change}`).join(' ') },
          ]}
        />
      )}
    </Panel>
  );
}
