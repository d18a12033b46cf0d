// What all pages share: settings of the reader, and values that are asked for again and again while the page is visible.
import { computed, effect, signal } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

function stored<T extends string>(name: string, values: readonly T[], initial: T) {
  let first = initial;
  try {
    const kept = localStorage.getItem(name) as T | null;
    if (kept && values.includes(kept)) first = kept;
  } catch {
    // A browser may forbid it; the setting then lasts as long as the page.
  }
  const setting = signal<T>(first);
  effect(() => {
    try {
      localStorage.setItem(name, setting.value);
    } catch {
      // As above.
    }
  });
  return setting;
}

export const zone = stored('rondo-zone', ['utc', 'local'] as const, 'local');
export const theme = stored('rondo-theme', ['auto', 'light', 'dark'] as const, 'auto');
effect(() => {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});
const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = signal(dark.matches);
dark.addEventListener('change', () => (isDark.value = dark.matches));
/// The theme that the page has. A canvas does not follow the style sheet by itself.
export const shownTheme = computed(() => (theme.value !== 'auto' ? theme.value : isDark.value ? 'dark' : 'light'));

/// Live pages stand still while this is true.
export const paused = signal(false);

export interface Polled<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /// When 'data' arrived, by performance.now().
  at: number;
  refresh: () => void;
}

/// How long after an error that may pass 'ask' is called again, where it is called once.
const kAgain = 3_000;

/// Calls 'ask' now, whenever 'key' changes, and 'period' milliseconds after each answer (0: until it has one), but not while the page is hidden or paused.
/// The data of another key is forgotten at once; after an error the last data stays.
export function usePoll<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, period = 1000): Polled<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError; at: number }>({ key, at: 0 });
  const latest = useRef(ask);
  latest.current = ask;
  const wake = useRef<() => void>(() => undefined);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const next = async () => {
      clearTimeout(timer);
      if (asking) return;
      asking = true;
      let again = period;
      try {
        const data = await latest.current(abort.signal);
        if (!abort.signal.aborted) setState({ key, data, at: performance.now() });
      } catch (caught) {
        if (abort.signal.aborted) return;
        const error = caught instanceof ApiError ? caught : new ApiError('internal', String(caught), 0);
        setState((old) => ({ ...(old.key === key ? old : { key, at: 0 }), error }));
        // The configuration left it out, which only a restart of the daemon changes.
        if (error.code === 'unimplemented') return;
        if (again === 0 && (error.status === 0 || error.status >= 500)) again = kAgain;
      } finally {
        asking = false;
      }
      if (!abort.signal.aborted && again > 0) timer = setTimeout(tick, again);
    };
    const tick = () => {
      if (document.hidden || paused.value) timer = setTimeout(tick, 250);
      else void next();
    };
    wake.current = () => void next();
    const seen = () => {
      if (!document.hidden && period > 0 && !paused.value) void next();
    };
    document.addEventListener('visibilitychange', seen);
    void next();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
    };
  }, [key, period]);
  const refresh = useCallback(() => wake.current(), []);
  const own = state.key === key;
  return { data: own ? state.data : undefined, error: own ? state.error : undefined, at: own ? state.at : 0, refresh };
}

/// The last message for the reader, such as the result of an action.
export interface Notice {
  text: string;
  bad: boolean;
}
export const notice = signal<Notice | undefined>(undefined);
let noticeTimer: ReturnType<typeof setTimeout> | undefined;
export function tell(text: string, bad = false) {
  notice.value = { text, bad };
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (notice.value = undefined), bad ? 12_000 : 5_000);
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/// Does something for the reader and reports the result. A dialog reports its own (Confirm).
export async function act(done: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    tell(done);
  } catch (error) {
    tell(textOf(error), true);
  }
}
