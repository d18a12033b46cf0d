// The last changes of a row, which the daemon reads from its journal. That may read much of a file, so the reader asks for it.
import { useState } from 'preact/hooks';
import { call } from '../api';
import { instant } from '../format';
import { Empty, List, Panel, State, Waiting } from '../parts/parts';
import { usePoll } from '../state';

interface Field {
  name: string;
  /// Null: the row did not have the field. Absent: the journal does not say it.
  before?: string | null;
  after: string | null;
}
interface Change {
  at: string;
  op: string;
  by?: string;
  fields: Field[];
  fields_beyond?: number;
}
interface History {
  rows: Change[];
  damaged: boolean;
  stopped?: string;
}

const kPatience = 30_000;

export function RowHistory({ table, rowKey }: { table: string; rowKey: string }) {
  const [asked, setAsked] = useState(false);
  return (
    <Panel title="Its last changes" beside={!asked && <button onClick={() => setAsked(true)}>Read the journal</button>}>
      {asked ? <Changes table={table} rowKey={rowKey} /> : <Empty>The journal has them, if the daemon writes one.</Empty>}
    </Panel>
  );
}

function Changes({ table, rowKey }: { table: string; rowKey: string }) {
  const read = usePoll(`history ${table} ${rowKey}`, (signal) => call<History>('history', { table, key: rowKey }, signal, kPatience), 0);
  if (read.error?.code === 'failed-precondition') return <Empty>{read.error.message}</Empty>;
  const { data } = read;
  return (
    <>
      <Waiting error={read.error} has={data !== undefined} />
      {data && data.rows.length > 0 && (
        <List
          name="Changes"
          rows={data.rows.map((change, i) => ({ change, i }))}
          id={({ i }) => String(i)}
          columns={[
            { name: 'When', cell: ({ change }) => instant(change.at, true) },
            { name: 'By', cell: ({ change }) => change.by ?? '–' },
            { name: 'Change', cell: ({ change }) => <State state={change.op} kind={change.op === 'DEL' ? 'warn' : 'idle'} /> },
            { name: 'Fields', class: 'text', cell: ({ change }) => <Fields change={change} /> },
          ]}
        />
      )}
      {data && (
        <p class="note">
          {data.stopped ? `Older changes are not shown: ${data.stopped}.` : data.rows.length > 0 ? 'The journal has no older ones.' : 'The journal has no change of this row.'}{' '}
          {data.damaged && 'Parts of the journal are damaged or missing. '}
          <button class="quiet" onClick={read.refresh}>Read again</button>
        </p>
      )}
    </>
  );
}

/// A value that the row had or has.
function Value({ is: Is, value }: { is: 'del' | 'ins'; value: string | null | undefined }) {
  if (typeof value === 'string') return <Is>{value || '""'}</Is>;
  return value === null ? <span class="soft">none</span> : <span class="soft" title="The journal does not say it">unknown</span>;
}

function Fields({ change }: { change: Change }) {
  if (change.fields.length === 0) return <span class="note">{change.op === 'SET' ? 'no field changed' : ''}</span>;
  return (
    <>
      {change.fields.map(({ name, before, after }) => (
        <div class="mono">
          <span class="soft">{name}</span> <Value is="del" value={before} /> <span class="hidden">became</span>
          <span aria-hidden="true">→</span> <Value is="ins" value={after} />
        </div>
      ))}
      {change.fields_beyond && <div class="note">and {change.fields_beyond} more</div>}
    </>
  );
}
