// The parts of which pages are made.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api';
import { paused, tell, textOf } from '../state';

/// A page: its heading, what stands beside that, and its content.
export function Page(props: { title: ComponentChildren; beside?: ComponentChildren; live?: boolean; children: ComponentChildren }) {
  return (
    <>
      <header class="page-head">
        <h1>{props.title}</h1>
        <div class="beside">
          {props.beside}
          {props.live && <PauseButton />}
        </div>
      </header>
      {props.children}
    </>
  );
}

export function PauseButton() {
  return (
    <button class="quiet" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)} title="Stop and continue the updates of this page (p)">
      {paused.value ? '▶ Continue' : '❚❚ Pause'}
    </button>
  );
}

export function Panel(props: { title?: ComponentChildren; beside?: ComponentChildren; class?: string; children: ComponentChildren }) {
  return (
    <section class={`panel ${props.class ?? ''}`}>
      {props.title !== undefined && (
        <header>
          <h2>{props.title}</h2>
          <div class="beside">{props.beside}</div>
        </header>
      )}
      {props.children}
    </section>
  );
}

/// One figure with its name.
export function Figure(props: { name: string; children: ComponentChildren; kind?: Kind; note?: ComponentChildren }) {
  return (
    <div class={`figure ${props.kind ?? ''}`}>
      <div class="name">{props.name}</div>
      <div class="value">{props.children}</div>
      {props.note !== undefined && <div class="note">{props.note}</div>}
    </div>
  );
}

export type Kind = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

const kKinds: Record<string, Kind> = {
  installed: 'good', done: 'good', succeeded: 'good', up: 'good', running: 'busy', ready: 'busy', pending: 'busy', queued: 'busy',
  'in-flight': 'busy', due: 'busy', waiting: 'warn', parked: 'warn', withdrawn: 'warn', retried: 'warn', draining: 'warn', late: 'warn',
  skipped: 'idle', killed: 'warn', foreign: 'warn', rejected: 'bad', refused: 'bad', lost: 'bad', failed: 'bad', 'timed-out': 'bad',
  quarantined: 'bad', absent: 'bad', missing: 'bad', down: 'bad',
};

/// A word of a state in its colour. The word itself tells the state, so that nobody needs the colour.
export function State(props: { state: string | undefined; kind?: Kind }) {
  if (!props.state) return <>–</>;
  return <span class={`state ${props.kind ?? kKinds[props.state] ?? 'idle'}`}>{props.state}</span>;
}

/// What stands in place of data: an error, or that it is on its way. What the configuration left out is no error.
export function Waiting(props: { error: ApiError | undefined; has: boolean }) {
  if (props.error?.code === 'unimplemented') return <Empty>{props.error.message}</Empty>;
  if (props.error) return <p class="message bad" role="alert">{props.error.message}</p>;
  return props.has ? null : <p class="message" aria-busy="true">Loading…</p>;
}

export function Empty(props: { children: ComponentChildren }) {
  return <p class="message">{props.children}</p>;
}

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  /// Numbers stand to the right.
  right?: boolean;
  class?: string;
}

/// A table that scrolls sideways by itself on narrow screens.
export function List<Row>(props: { name: string; rows: Row[]; columns: Column<Row>[]; id: (row: Row) => string; mark?: (row: Row) => Kind | undefined }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.name}>
      <table>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th scope="col" class={column.right ? 'right' : ''}>{column.name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.id(row)} class={props.mark?.(row)}>
              {props.columns.map((column) => (
                <td class={`${column.right ? 'right' : ''} ${column.class ?? ''}`}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/// A bar of several parts beside each other, in the ratio of their values.
export function Bar(props: { parts: { name: string; value: number; kind: Kind }[]; of?: number; format?: (value: number) => string }) {
  const sum = Math.max(props.of ?? 0, props.parts.reduce((all, part) => all + part.value, 0));
  const text = props.parts.filter((part) => part.value > 0).map((part) => `${part.name}: ${props.format?.(part.value) ?? part.value}`).join(', ');
  return (
    <div class="bar" role="img" aria-label={text || 'empty'} title={text}>
      {sum > 0 && props.parts.map((part) => part.value > 0 && <span class={part.kind} style={{ width: `${(100 * part.value) / sum}%` }} />)}
    </div>
  );
}

/// A field that searches. 'change' is called after a short rest of the keys.
export function Search(props: { label: string; value: string; change: (value: string) => void; hint?: string }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.hint ?? props.label}
      value={props.value}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => {
        const { value } = event.currentTarget;
        clearTimeout(timer.current);
        timer.current = setTimeout(() => props.change(value), 150);
      }}
    />
  );
}

export function Choice<T extends string>(props: { label: string; value: T; values: readonly (readonly [T, string])[]; change: (value: T) => void }) {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.change(event.currentTarget.value as T)}>
        {props.values.map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </label>
  );
}

/// A dialog that asks before something changes. 'confirm' returns what is reported after the dialog has closed, or undefined: the dialog stays open.
/// An error of 'confirm' is shown in the dialog, because a notice would be behind its backdrop.
export function Confirm(props: { title: string; verb: string; danger?: boolean; disabled?: boolean; close: () => void; confirm: () => Promise<string | undefined>; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [trouble, setTrouble] = useState('');
  const [busy, setBusy] = useState(false);
  const isClosed = useRef(false);
  useEffect(() => {
    dialog.current?.showModal();
    return () => void (isClosed.current = true);
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    // The button stays enabled, because a disabled one loses the focus.
    if (busy) return;
    setTrouble('');
    setBusy(true);
    try {
      const done = await props.confirm();
      if (done !== undefined) {
        tell(done);
        if (!isClosed.current) props.close();
      }
    } catch (error) {
      if (isClosed.current) tell(textOf(error), true);
      else setTrouble(textOf(error));
    }
    setBusy(false);
  };
  return (
    <dialog ref={dialog} onClose={props.close} aria-label={props.title}>
      <form onSubmit={submit}>
        <h2>{props.title}</h2>
        {props.children}
        {trouble && <p class="message bad" role="alert">{trouble}</p>}
        <div class="buttons">
          <button type="button" onClick={props.close}>{busy ? 'Close' : 'Cancel'}</button>
          <button type="submit" class={props.danger ? 'danger' : 'primary'} disabled={props.disabled}>{busy ? `${props.verb}…` : props.verb}</button>
        </div>
      </form>
    </dialog>
  );
}
