// Tables, the rows of one, and one row.
import { useState } from 'preact/hooks';
import { call, mayWrite } from '../api';
import { count } from '../format';
import { PagedList, type Rows } from '../parts/paged';
import { Choice, Confirm, Empty, List, Page, Panel, Search, State, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { usePoll } from '../state';
import { CountsBar, type TableCounts } from './now';
import { RowPage, type Why } from './row';

/// Rows whose fields the dialog compares with those that it writes.
const kCompared = 200;

export type FieldList = [string, string][];

export interface ShownRow {
  key: string;
  state: string;
  plane?: string;
  fields?: FieldList;
  large?: boolean;
  note: string;
}

export function Tables({ parts }: { parts: string[] }) {
  const [table, key] = parts;
  if (table !== undefined && key !== undefined) return <RowPage table={table} rowKey={parts.slice(1).join('/')} />;
  return table !== undefined ? <Table table={table} /> : place.value.query.get('show') === 'rejected' ? <Rejected table="" /> : <AllTables />;
}

function AllTables() {
  const tables = usePoll('tables', (signal) => call<{ rows: TableCounts[] }>('tables', {}, signal), 2000);
  return (
    <Page title="Tables" live>
      <Panel>
        <Waiting error={tables.error} has={tables.data !== undefined} />
        {tables.data && (
          <List
            name="Tables"
            rows={tables.data.rows}
            id={(row) => row.table}
            columns={[
              { name: 'Table', cell: (row) => <A href={to(['tables', row.table])}>{row.table}</A> },
              { name: 'Kind', cell: (row) => row.kind },
              { name: 'Rows', right: true, cell: (row) => count(row.rows) },
              { name: 'State', cell: (row) => <CountsBar row={row} /> },
              { name: 'Installed', right: true, cell: (row) => count(row.installed) },
              { name: 'Pending', right: true, cell: (row) => count(row.pending) },
              { name: 'Waiting', right: true, cell: (row) => (row.waiting ? <A href={to(['parked'], { table: row.table })}>{count(row.waiting)}</A> : count(row.waiting)) },
              { name: 'Withdrawn', right: true, cell: (row) => count(row.withdrawn) },
              { name: 'Refused', right: true, cell: (row) => count(row.refused) },
              { name: 'Lost', right: true, cell: (row) => count(row.lost) },
              { name: 'Rejected', right: true, cell: (row) => (row.rejected ? <A href={to(['tables', row.table], { show: 'rejected' })}>{count(row.rejected)}</A> : count(row.rejected)) },
            ]}
          />
        )}
      </Panel>
    </Page>
  );
}

function Table({ table }: { table: string }) {
  const { query } = place.value;
  const pattern = query.get('find') ?? '';
  const shows = query.get('show') ?? 'rows';
  const [adding, setAdding] = useState(false);
  const [version, setVersion] = useState(0);
  const counts = usePoll(`counts ${table}`, (signal) => call<{ rows: TableCounts[] }>('tables', {}, signal), 2000);
  const row = counts.data?.rows.find((entry) => entry.table === table);
  if (shows === 'rejected') return <Rejected table={table} />;
  const keys = pattern === '' ? undefined : /[*?]/.test(pattern) ? pattern : `*${pattern}*`;
  return (
    <Page title={table} beside={mayWrite() && <button onClick={() => setAdding(true)}>Add a row</button>}>
      {row && <CountsBar row={row} />}
      <Panel>
        <Waiting error={counts.error} has />
        <PagedList<ShownRow>
          tools={
            <>
              <Search label="Find a key" hint="Part of a key, or a pattern with * and ?" value={pattern} change={(value) => setQuery('find', value)} />
              <Choice
                label="Show"
                value={shows}
                values={[['rows', 'rows'], ['rejected', 'rejected rows']]}
                change={(value) => setQuery('show', value === 'rows' ? '' : value)}
              />
            </>
          }
          name={`Rows of ${table}`}
          listKey={`${table} ${keys ?? ''} ${version}`}
          ask={(cursor, signal) => call<Rows<ShownRow>>('show', { table, pattern: keys, count: 200, cursor }, signal)}
          id={(entry) => entry.key}
          total={keys === undefined ? row?.rows : undefined}
          empty={pattern ? 'No key matches.' : 'The table has no row.'}
          columns={[
            { name: 'Key', class: 'key', cell: (entry) => <A href={to(['tables', table, entry.key])}>{entry.key}</A> },
            { name: 'State', cell: (entry) => <State state={entry.plane ?? entry.state} /> },
            { name: 'Fields', class: 'text key', cell: (entry) => (entry.large ? '(large)' : entry.fields?.map(([name, value]) => `${name}=${value}`).join('  ')) },
            { name: 'Note', class: 'text', cell: (entry) => entry.note },
          ]}
        />
      </Panel>
      {adding && <EditRow table={table} fields={[]} close={() => setAdding(false)} done={() => setVersion(version + 1)} />}
    </Page>
  );
}

function Rejected({ table }: { table: string }) {
  return (
    <Page title={table ? `${table}: rejected rows` : 'Rejected rows'} beside={<A href={to(table ? ['tables', table] : ['tables'])}>back</A>}>
      <Panel>
        <PagedList<{ table: string; key: string; why: string }>
          name="Rejected rows"
          listKey={table}
          ask={(cursor, signal) => call('rejected', { table: table || undefined, count: 200, cursor }, signal)}
          id={(entry) => `${entry.table} ${entry.key}`}
          empty="No row is rejected."
          columns={[
            { name: 'Table', cell: (entry) => entry.table },
            { name: 'Key', class: 'key', cell: (entry) => <A href={to(['tables', entry.table, entry.key])}>{entry.key}</A> },
            { name: 'Why', class: 'text', cell: (entry) => entry.why },
          ]}
        />
      </Panel>
    </Page>
  );
}

/// One "name=value" a line.
function parse(text: string): FieldList {
  return text.split('\n').filter((line) => line.trim() !== '').map((line) => {
    const at = line.indexOf('=');
    return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1)];
  });
}

/// What became of the newest change of a row, as far as its consumer comes to it within ten seconds.
async function outcome(table: string, key: string): Promise<{ refusal?: string | undefined; isOpen: boolean }> {
  for (let look = 0; look < 50; ++look) {
    const [row] = (await call<Why>('why', { table, key })).chain;
    if (row && !['queued', 'in-flight'].includes(row.state)) return { refusal: row.state === 'rejected' ? row.note : undefined, isOpen: false };
    await new Promise((done) => setTimeout(done, 200));
  }
  return { isOpen: true };
}

/// Names the fields that none of the table's first rows has: they may be typing errors. undefined: there is none, or the rows could not be read.
async function warningOf(table: string, key: string, names: string[]): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  let page: Rows<ShownRow>;
  try {
    page = await call<Rows<ShownRow>>('show', { table, count: kCompared });
  } catch {
    return undefined; // The write reports the error, if it has the same.
  }
  const others = page.rows.filter((row) => row.key !== key && row.fields);
  const known = new Set(others.flatMap((row) => row.fields!.map(([name]) => name)));
  const unknown = names.filter((name) => !known.has(name));
  if (others.length === 0 || unknown.length === 0) return undefined;
  return `${page.next === undefined ? 'No other row' : `None of the first ${kCompared} rows`} of ${table} has the field ${unknown.map((name) => `'${name}'`).join(' or ')}.`;
}

/// Writes the fields of a row that its reader has changed.
export function EditRow(props: { table: string; rowKey?: string; fields: FieldList; close: () => void; done: () => void }) {
  // The row may change while its reader writes: only what the reader changes is written.
  const [before, setBefore] = useState(props.fields);
  const [key, setKey] = useState(props.rowKey ?? '');
  const [text, setText] = useState(before.map(([name, value]) => `${name}=${value}`).join('\n'));
  const fields = parse(text);
  const names = new Set(fields.map(([name]) => name));
  const changed = fields.filter(([name, value]) => before.find(([old]) => old === name)?.[1] !== value);
  const removed = before.filter(([name]) => !names.has(name));
  const [warned, setWarned] = useState<{ of: string; warning: string }>();
  const isWarned = warned?.of === text;
  const changes = [...changed.map(([name, value]) => `${name} = ${value}`), ...removed.map(([name]) => `without ${name}`)];
  return (
    <Confirm
      title={props.rowKey === undefined ? `Add a row to ${props.table}` : `Change ${props.rowKey}`}
      verb={isWarned ? 'Write it all the same' : props.rowKey !== undefined && changes.length === 0 ? 'Write again' : 'Write'}
      disabled={key === ''}
      close={props.close}
      confirm={async () => {
        const warning = isWarned ? undefined : await warningOf(props.table, key, [...names].filter((name) => !before.some(([old]) => old === name)));
        if (warning) {
          setWarned({ of: text, warning });
          return undefined;
        }
        const sent = changes.length === 0 ? { fields } : { fields: changed, unset: removed.map(([name]) => [name, '']) };
        await call('set', { table: props.table, key, ...sent });
        setBefore(fields);
        try {
          const { refusal, isOpen } = await outcome(props.table, key);
          if (refusal) throw new Error(`${key} was written, and is rejected: ${refusal}`);
          return `${key} was written${isOpen ? ', and waits for its turn' : ''}`;
        } finally {
          props.done();
        }
      }}
    >
      {props.rowKey === undefined && <label>Key<input value={key} required onInput={(event) => setKey(event.currentTarget.value)} /></label>}
      <label>Fields, one NAME=VALUE a line<textarea value={text} spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <div>
        <h3>What changes</h3>
        {changes.length === 0 ? <Empty>{props.rowKey === undefined ? 'Nothing yet.' : 'Nothing yet. The row may be written again as it is.'}</Empty> : <ul>{changes.map((change) => <li class="mono">{change}</li>)}</ul>}
      </div>
      {isWarned && <p class="message warn" role="alert">{warned?.warning}</p>}
    </Confirm>
  );
}
