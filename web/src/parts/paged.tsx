// A list that is read in pages: the rows behind the last one are asked for when the reader wants them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api';
import { count } from '../format';
import { type Column, type Kind, List, Waiting } from './parts';

export interface Rows<Row> {
  rows: Row[];
  next?: string;
}

/// More rows than these are not kept on a page.
const kKept = 2000;

/// Asks for a new list when 'key' changes.
export function PagedList<Row>(props: {
  name: string;
  listKey: string;
  ask: (cursor: string | undefined, signal: AbortSignal) => Promise<Rows<Row>>;
  id: (row: Row) => string;
  columns: Column<Row>[];
  mark?: (row: Row) => Kind | undefined;
  empty: string;
  total?: number | null | undefined;
}) {
  const [state, setState] = useState<{ key: string; rows: Row[]; next?: string | undefined; error?: ApiError; busy: boolean }>({ key: '', rows: [], busy: true });
  const abort = useRef(new AbortController());
  const load = async (cursor: string | undefined, before: Row[]) => {
    abort.current.abort();
    const mine = (abort.current = new AbortController());
    setState({ key: props.listKey, rows: before, next: cursor, busy: true });
    try {
      const page = await props.ask(cursor, mine.signal);
      setState({ key: props.listKey, rows: [...before, ...page.rows].slice(-kKept), next: page.next, busy: false });
    } catch (caught) {
      if (mine.signal.aborted) return;
      const error = caught instanceof ApiError ? caught : new ApiError('internal', String(caught), 0);
      setState({ key: props.listKey, rows: before, next: cursor, error, busy: false });
    }
  };
  useEffect(() => {
    void load(undefined, []);
    return () => abort.current.abort();
  }, [props.listKey]);
  const rows = state.key === props.listKey ? state.rows : [];
  return (
    <>
      {rows.length > 0 && <List name={props.name} rows={rows} id={props.id} columns={props.columns} {...(props.mark && { mark: props.mark })} />}
      {(state.busy || state.error) && <Waiting error={state.error} has={false} />}
      {!state.busy && !state.error && rows.length === 0 && <p class="message">{state.next ? 'Nothing was found so far.' : props.empty}</p>}
      <div class="more">
        {state.next !== undefined && !state.busy && <button onClick={() => void load(state.next, state.rows)}>More</button>}
        {rows.length > 0 && <span>{count(rows.length)} shown{props.total ? ` of ${count(props.total)}` : ''}</span>}
      </div>
    </>
  );
}
