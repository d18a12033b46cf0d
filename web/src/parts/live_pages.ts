// A list whose first page is asked for again and again, while the pages behind it stay until the reader leaves.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api';
import { tell, textOf, usePoll } from '../state';
import type { Rows } from './paged';

/// More rows than these are not kept on a page.
const kKept = 2000;

export interface LivePages<Row> {
  rows: Row[];
  error: ApiError | undefined;
  /// The first page has arrived.
  has: boolean;
  /// Reads the next page; absent: there is none, or it is on its way.
  more: (() => void) | undefined;
  /// There are rows behind these.
  hasMore: boolean;
  /// There are more rows than a page keeps.
  isCut: boolean;
  refresh: () => void;
}

/// 'order' is that of the list: negative if 'a' stands before 'b'. A row that new ones push behind the first page stays once the reader has asked for more.
export function useLivePages<Row>(
  key: string,
  ask: (cursor: string | undefined, signal: AbortSignal) => Promise<Rows<Row>>,
  order: (a: Row, b: Row) => number,
  period: number,
): LivePages<Row> {
  const first = usePoll(key, (signal) => ask(undefined, signal), period);
  const [behind, setBehind] = useState<{ key: string; next?: string | undefined; busy: boolean }>();
  const all = useRef<Row[]>([]);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), [key]);
  const own = behind?.key === key ? behind : undefined;
  if (!first.data) {
    all.current = [];
  } else {
    const last = first.data.rows.at(-1);
    // A page may be empty, and others follow it: each row of it was left out.
    const older = own && first.data.next !== undefined ? all.current.filter((row) => !last || order(last, row) < 0) : [];
    all.current = [...first.data.rows, ...older];
  }
  const next = own ? own.next : first.data?.next;
  const load = async () => {
    abort.current?.abort();
    const mine = (abort.current = new AbortController());
    setBehind({ key, next, busy: true });
    try {
      const page = await ask(next, mine.signal);
      all.current = [...all.current, ...page.rows];
      setBehind({ key, next: page.next, busy: false });
    } catch (caught) {
      if (mine.signal.aborted) return;
      tell(textOf(caught), true);
      setBehind({ key, next, busy: false });
    }
  };
  const isFull = all.current.length >= kKept;
  const more = next !== undefined && !own?.busy && !isFull ? () => void load() : undefined;
  const isCut = all.current.length > kKept || (isFull && next !== undefined);
  return { rows: all.current.slice(0, kKept), more, hasMore: next !== undefined || isCut, isCut, error: first.error, has: first.data !== undefined, refresh: first.refresh };
}
