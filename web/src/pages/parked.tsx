// What rows wait for: facts, the largest first, and the rows that wait for one.
import { call } from '../api';
import { count, span } from '../format';
import { PagedList } from '../parts/paged';
import { List, Page, Panel, Search, Waiting } from '../parts/parts';
import { A, place, setQuery, to } from '../router';
import { usePoll } from '../state';

interface ParkedFact {
  kind: string;
  key: string;
  table: string;
  rows: number;
  has_provider: boolean;
  provider: string;
  oldest_ms: number;
}
interface ParkedRow {
  table: string;
  key: string;
  op: string;
  facts: { kind: string; key: string }[];
  waited_ms: number;
  retry_in_ms: number;
  why: string;
}

const kShown = 500;

export function Parked() {
  const { query } = place.value;
  const table = query.get('table');
  const kind = query.get('kind');
  const key = query.get('key');
  return table ? <ParkedRows table={table} kind={kind ?? ''} factKey={key ?? ''} /> : <Facts find={query.get('find') ?? ''} />;
}

function Facts({ find }: { find: string }) {
  const parked = usePoll('parked', (signal) => call<{ rows: ParkedFact[] }>('parked', {}, signal), 2000);
  const all = parked.data?.rows ?? [];
  const found = all.filter((fact) => `${fact.kind} ${fact.key} ${fact.table}`.toLowerCase().includes(find.toLowerCase()));
  found.sort((a, b) => b.rows - a.rows);
  return (
    <Page title="Parked" live>
      <Panel>
        <div class="bar-of-tools">
          <Search label="Find a fact" value={find} change={(value) => setQuery('find', value)} />
          {parked.data && <span class="note">{count(all.reduce((sum, fact) => sum + fact.rows, 0))} rows wait for {count(all.length)} facts. A row that lacks several counts under the first.</span>}
        </div>
        <Waiting error={parked.error} has={parked.data !== undefined} />
        {parked.data && found.length === 0 && <p class="message">{find ? 'No fact matches.' : 'No row waits.'}</p>}
        {found.length > 0 && (
          <List
            name="Facts"
            rows={found.slice(0, kShown)}
            id={(fact) => `${fact.kind} ${fact.key} ${fact.table}`}
            columns={[
              { name: 'Fact', class: 'key', cell: (fact) => <A href={to(['parked'], { kind: fact.kind, key: fact.key, table: fact.table })}>{fact.kind} {fact.key}</A> },
              { name: 'Rows', right: true, cell: (fact) => count(fact.rows) },
              { name: 'Table', cell: (fact) => <A href={to(['tables', fact.table])}>{fact.table}</A> },
              { name: 'Provider', cell: (fact) => (fact.has_provider ? fact.provider : <span class="state bad">none</span>) },
              { name: 'Longest wait', right: true, cell: (fact) => span(fact.oldest_ms) },
            ]}
          />
        )}
        {found.length > kShown && <p class="note">The first {kShown} of {count(found.length)} are shown.</p>}
      </Panel>
    </Page>
  );
}

function ParkedRows({ table, kind, factKey }: { table: string; kind: string; factKey: string }) {
  const fits = (row: ParkedRow) => kind === '' || row.facts.some((fact) => fact.kind === kind && fact.key === factKey);
  return (
    <Page title={kind ? <>Rows that wait for <span class="mono">{kind} {factKey}</span></> : `Rows of ${table} that wait`} beside={<A href={to(['parked'])}>all facts</A>}>
      <Panel>
        <PagedList<ParkedRow>
          name="Rows that wait"
          listKey={`${table} ${kind} ${factKey}`}
          ask={async (cursor, signal) => {
            const page = await call<{ rows: ParkedRow[]; next?: string }>('parked', { table, count: 500, cursor }, signal);
            return { ...page, rows: page.rows.filter(fits) };
          }}
          id={(row) => row.key}
          empty="No row waits for it any more."
          columns={[
            { name: 'Key', class: 'key', cell: (row) => <A href={to(['tables', row.table, row.key])}>{row.key}</A> },
            { name: 'Change', cell: (row) => row.op },
            { name: 'Waits for', class: 'text key', cell: (row) => row.facts.map((fact) => `${fact.kind} ${fact.key}`).join(', ') || (row.retry_in_ms > 0 ? `a try in ${span(row.retry_in_ms)}` : '') },
            { name: 'For', right: true, cell: (row) => span(row.waited_ms) },
            { name: 'Note', class: 'text', cell: (row) => row.why },
          ]}
        />
      </Panel>
    </Page>
  );
}
