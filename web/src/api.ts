// Calls of rondod's commands (POST /api/v1/COMMAND), with the session cookie of the browser.
import { signal } from '@preact/signals';
import { noteDate } from './clock';

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type Arguments = Record<string, Json | undefined>;

export interface Session {
  name: string;
  role: 'viewer' | 'worker' | 'operator' | 'admin';
  group?: string;
}

/// An error that the daemon or the network gave.
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/// undefined: not known yet; null: nobody is signed in.
export const session = signal<Session | null | undefined>(undefined);
/// Why nobody is signed in any more.
export const ended = signal('');

/// A call without an answer after so long fails: a daemon that hangs must not look like one that is well.
const kPatience = 10_000;

/// The second secret of the session, beside the cookie, which other ports of the host see.
const kKey = 'rondo-session-key';
let key = '';
try {
  key = localStorage.getItem(kKey) ?? '';
} catch {
  // A browser may forbid it; the session then lasts as long as the page.
}
/// '': nobody is signed in.
function keep(value: string) {
  key = value;
  try {
    if (value) localStorage.setItem(kKey, value);
    else localStorage.removeItem(kKey);
  } catch {
    // As above.
  }
}
/// Another tab has signed in or out.
addEventListener('storage', (event) => {
  if (event.key !== kKey) return;
  key = event.newValue ?? '';
  ended.value = '';
  if (key) return void resume();
  if (session.value) ended.value = 'You have signed out in another tab.';
  session.value = null;
});

export function mayWrite(): boolean {
  return session.value?.role === 'operator' || session.value?.role === 'admin';
}

interface Sending {
  signal?: AbortSignal | undefined;
  accept?: string;
  patience?: number;
}

/// 'read' makes the result of the response; the time for the answer includes it.
async function send<T>(method: string, path: string, body: Arguments | undefined, read: (response: Response) => Promise<T>, sending: Sending = {}): Promise<T> {
  const { signal, accept = 'application/json', patience = kPatience } = sending;
  const abort = new AbortController();
  const leave = () => abort.abort();
  signal?.addEventListener('abort', leave);
  if (signal?.aborted) leave();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    leave();
  }, patience);
  const used = key;
  const request: RequestInit = { method, credentials: 'same-origin', cache: 'no-store', signal: abort.signal };
  request.headers = { Accept: accept, 'Rondo-Session-Key': used, ...(method === 'POST' && { 'Content-Type': 'application/json' }) };
  if (method === 'POST') request.body = JSON.stringify(body ?? {});
  const sent = Date.now();
  try {
    const response = await fetch(path, request);
    noteDate(response.headers.get('Date'), sent);
    return response.ok ? await read(response) : await refused(response, path, used);
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    if (isLate) throw new ApiError('deadline-exceeded', `rondod has not answered for ${patience / 1000} s; it may still do what it was asked`, 0);
    throw new ApiError('unavailable', 'rondod does not answer', 0);
  } finally {
    clearTimeout(timer);
    // A stream goes on, and ends with its signal.
    if (accept === 'application/json') signal?.removeEventListener('abort', leave);
  }
}

/// Rejects with the error of a response to a call with the key 'used'.
async function refused(response: Response, path: string, used: string): Promise<never> {
  let code = 'unavailable';
  let message = `rondod answered with status ${response.status}`;
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    ({ code, message } = error);
  } catch {
    // The text above says what is known.
  }
  // A call of a session before this one says nothing about this one.
  if (response.status === 401 && used === key && !path.endsWith('/session')) {
    if (session.value) ended.value = 'The session has ended: its token was removed, rondod was started again, or nobody used it for long.';
    session.value = null;
  }
  throw new ApiError(code, message, response.status);
}

/// Calls a command and returns its result. Rejects with an ApiError, or with an AbortError if 'signal' was aborted. 'patience': milliseconds.
export function call<T>(command: string, args: Arguments = {}, signal?: AbortSignal, patience = kPatience): Promise<T> {
  return send('POST', `/api/v1/${command}`, args, (response) => response.json() as Promise<T>, { signal, patience });
}

/// Calls a command whose answer has no end: 'onRow' gets each row. Returns a function that ends it. 'onEnd' gets the error, if there is one; 'onOpen' is
/// called once rondod has accepted the call.
export function follow<Row>(command: string, args: Arguments, onRow: (row: Row) => void, onEnd: (error?: ApiError) => void, onOpen: () => void): () => void {
  const abort = new AbortController();
  void (async () => {
    try {
      const response = await send('POST', `/api/v1/${command}`, args, async (begun) => begun, { signal: abort.signal, accept: 'text/event-stream' });
      onOpen();
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const events = (rest + value).split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) {
          const kind = /^event: (.*)$/m.exec(event)?.[1];
          const data = /^data: (.*)$/m.exec(event)?.[1];
          if (data === undefined) continue;
          if (kind === 'row') onRow(JSON.parse(data) as Row);
          if (kind === 'error') {
            const { code, message } = (JSON.parse(data) as { error?: { code: string; message: string } }).error ?? { code: 'internal', message: data };
            return onEnd(new ApiError(code, message, 200));
          }
          if (kind === 'end') return onEnd();
        }
      }
      onEnd(new ApiError('unavailable', 'the stream has ended', 0));
    } catch (error) {
      if (!abort.signal.aborted) onEnd(error instanceof ApiError ? error : new ApiError('unavailable', String(error), 0));
    }
  })();
  return () => abort.abort();
}

/// Asks who is signed in.
export async function resume(): Promise<void> {
  try {
    session.value = await send('GET', '/api/v1/session', undefined, (response) => response.json() as Promise<Session>);
  } catch (error) {
    if (error instanceof ApiError && error.status === 0) ended.value = error.message;
    session.value = null;
  }
}

export async function signIn(token: string): Promise<void> {
  const signed = await send('POST', '/api/v1/session', { token }, (response) => response.json() as Promise<Session & { key: string }>);
  keep(signed.key);
  ended.value = '';
  session.value = signed;
}

export async function signOut(): Promise<void> {
  try {
    await send('DELETE', '/api/v1/session', undefined, async () => undefined);
  } catch {
    // The cookie may be gone already.
  }
  keep('');
  ended.value = '';
  session.value = null;
}
