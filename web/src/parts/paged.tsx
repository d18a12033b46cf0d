// A list that is read in pages: the rows behind the last one are asked for when the reader wants them. The list tells when it was read.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api';
import { serverTime } from '../clock';
import { count, instant } from '../format';
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
  tools?: ComponentChildren;
}) {
  const [state, setState] = useState<{ key: string; rows: Row[]; next?: string | undefined; error?: ApiError; busy: boolean; at: number }>({ key: '', rows: [], busy: true, at: 0 });
  const abort = useRef(new AbortController());
  const load = async (cursor: string | undefined, before: Row[], at: number) => {
    abort.current.abort();
    const mine = (abort.current = new AbortController());
    setState({ key: props.listKey, rows: before, next: cursor, busy: true, at });
    try {
      const page = await props.ask(cursor, mine.signal);
      setState({ key: props.listKey, rows: [...before, ...page.rows].slice(-kKept), next: page.next, busy: false, at });
    } catch (caught) {
      if (mine.signal.aborted) return;
      const error = caught instanceof ApiError ? caught : new ApiError('internal', String(caught), 0);
      setState({ key: props.listKey, rows: before, next: cursor, error, busy: false, at });
    }
  };
  useEffect(() => {
    void load(undefined, [], serverTime());
    return () => abort.current.abort();
  }, [props.listKey]);
  const rows = state.key === props.listKey ? state.rows : [];
  return (
    <>
      <div class="bar-of-tools">
        {props.tools}
        <button class="quiet" onClick={() => void load(undefined, [], serverTime())}>Read again</button>
        {(rows.length > 0 || (!state.busy && !state.error)) && <span class="note">as of {instant(new Date(state.at).toISOString()).slice(11)}</span>}
      </div>
      {rows.length > 0 && <List name={props.name} rows={rows} id={props.id} columns={props.columns} {...(props.mark && { mark: props.mark })} />}
      {(state.busy || state.error) && <Waiting error={state.error} has={false} />}
      {!state.busy && !state.error && rows.length === 0 && <p class="message">{state.next ? 'Nothing was found so far.' : props.empty}</p>}
      <div class="more">
        {state.next !== undefined && !state.busy && <button onClick={() => void load(state.next, state.rows, state.at)}>More</button>}
        {rows.length > 0 && <span>{count(rows.length)} shown{props.total ? ` of ${count(props.total)}` : ''}</span>}
      </div>
    </>
  );
}
