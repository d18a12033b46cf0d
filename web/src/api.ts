// Calls of rondod's commands (POST /api/v1/COMMAND), with the session cookie of the browser.
import { signal } from '@preact/signals';

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

export function mayWrite(): boolean {
  return session.value?.role === 'operator' || session.value?.role === 'admin';
}

async function send(method: string, path: string, body: Arguments | undefined, signal?: AbortSignal, accept = 'application/json') {
  const request: RequestInit = { method, headers: { Accept: accept }, credentials: 'same-origin', cache: 'no-store' };
  if (method === 'POST') {
    request.headers = { Accept: accept, 'Content-Type': 'application/json' };
    request.body = JSON.stringify(body ?? {});
  }
  if (signal) request.signal = signal;
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('unavailable', 'rondod does not answer', 0);
  }
  if (response.ok) return response;
  let code = 'unavailable';
  let message = `rondod answered with status ${response.status}`;
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    ({ code, message } = error);
  } catch {
    // The text above says what is known.
  }
  if (response.status === 401 && !path.endsWith('/session')) session.value = null;
  throw new ApiError(code, message, response.status);
}

/// Calls a command and returns its result. Rejects with an ApiError, or with an AbortError if 'signal' was aborted.
export async function call<T>(command: string, args: Arguments = {}, signal?: AbortSignal): Promise<T> {
  return (await (await send('POST', `/api/v1/${command}`, args, signal)).json()) as T;
}

/// Calls a command whose answer has no end: 'onRow' gets each row. Returns a function that ends it. 'onEnd' gets the error, if there is one.
export function follow<Row>(command: string, args: Arguments, onRow: (row: Row) => void, onEnd: (error?: ApiError) => void): () => void {
  const abort = new AbortController();
  void (async () => {
    try {
      const response = await send('POST', `/api/v1/${command}`, args, abort.signal, 'text/event-stream');
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
    session.value = (await (await send('GET', '/api/v1/session', undefined)).json()) as Session;
  } catch {
    session.value = null;
  }
}

export async function signIn(token: string): Promise<void> {
  session.value = (await (await send('POST', '/api/v1/session', { token })).json()) as Session;
}

export async function signOut(): Promise<void> {
  try {
    await send('DELETE', '/api/v1/session', undefined);
  } catch {
    // The cookie may be gone already.
  }
  session.value = null;
}
