// The log of a run, as its command prints it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, call } from '../api';
import { bytes, visible } from '../format';
import { Panel, PauseButton, Search } from '../parts/parts';
import { paused } from '../state';
import { bytesOf, type Shard } from './jobs_data';

interface Piece {
  worker: string;
  from: number;
  next: number;
  ended: boolean;
  data: string;
  attempt?: number;
  activity?: string;
}

/// The page keeps so many characters, the newest.
const kKept = 2_000_000;
/// An answer without output waits at the daemon; one that did not is followed by this pause.
const kPause = 1000;
/// An answer may wait for output, and for a worker that is slow.
const kLogPatience = 90_000;
/// Errors that pass: no answer, too many readers, a worker that is away or slow.
const kPassing = [0, 429, 503, 504];

/// Control sequences of terminals (CSI and OSC), and other control characters than tabs and ends of lines.
const kEscapes = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

function withoutEscapes(text: string): string {
  return visible(text.replace(kEscapes, '').replace(/\r\n?/g, '\n'));
}

const rest = (ms: number) => new Promise((done) => setTimeout(done, ms));

/// Reads the log piece after piece: each worker counts the bytes of its own attempts. 'only': the address of a shard. 'show' gets text, 'say' what the run waits for.
async function readLog(run: number, only: string | undefined, abort: AbortSignal, show: (text: string) => void, say: (text: string) => void): Promise<void> {
  const nexts = new Map<string, number>();
  let worker = only ?? '';
  let shownAt = '';
  let decoder = new TextDecoder();
  while (!abort.aborted) {
    // A page that nobody sees takes none of the daemon's places for readers.
    if (document.hidden) {
      await rest(kPause);
      continue;
    }
    const asked = performance.now();
    const from = nexts.get(worker) ?? 0;
    let piece: Piece;
    try {
      piece = await call<Piece>('job-log', { run, from, wait: true, worker: worker || undefined }, abort, kLogPatience);
    } catch (error) {
      if (abort.aborted || !(error instanceof ApiError && kPassing.includes(error.status))) throw error;
      say(error.message);
      await rest(kPause);
      continue;
    }
    if (abort.aborted) return;
    say(piece.activity ?? '');
    if (piece.data) {
      const at = `attempt ${Math.max(piece.attempt ?? 1, 1)}, ${piece.worker}`;
      if (at !== shownAt) decoder = new TextDecoder();
      if (shownAt !== '' && at !== shownAt) show(`--- ${at} ---\n`);
      if (piece.from > from) show(`\n(${bytes(piece.from - from)} are not kept)\n`);
      show(decoder.decode(bytesOf(piece.data), { stream: true }));
      shownAt = at;
    }
    const isElsewhere = piece.worker !== '' && worker !== '' && piece.worker !== worker && !piece.data;
    if (isElsewhere && only) return;
    if (piece.worker) worker = piece.worker;
    if (isElsewhere) continue;
    nexts.set(worker, piece.next);
    if (piece.ended) return;
    if (!piece.data && performance.now() - asked < kPause) await rest(kPause);
  }
}

export function RunLog({ run, shard }: { run: number; shard?: Shard | undefined }) {
  const [raw, setRaw] = useState('');
  const [activity, setActivity] = useState('');
  const [end, setEnd] = useState<{ text: string; bad: boolean }>();
  const [find, setFind] = useState('');
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    // Text is shown at most ten times a second: a command may print faster than a browser draws.
    let waiting = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      const more = waiting;
      waiting = '';
      timer = undefined;
      setRaw((old) => (old + more).slice(-kKept));
    };
    const show = (text: string) => {
      waiting += text;
      timer ??= setTimeout(flush, 100);
    };
    readLog(run, shard?.address, abort.signal, show, setActivity).then(
      () => setEnd({ text: 'The log has ended.', bad: false }),
      (error: unknown) => {
        if (!abort.signal.aborted) setEnd({ text: error instanceof Error ? error.message : String(error), bad: !(error instanceof ApiError && error.code === 'not-found') });
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [run, shard?.address]);
  const text = useMemo(() => withoutEscapes(raw), [raw]);
  const word = find.toLowerCase();
  const shown = useMemo(() => (word ? text.split('\n').filter((line) => line.toLowerCase().includes(word)).join('\n') : text), [text, word]);
  const follows = !paused.value;
  useEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, follows]);
  const download = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([raw], { type: 'text/plain' }));
    link.download = `run-${run}.log`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return (
    <Panel
      title={shard ? `Log of shard ${shard.index}` : 'Log'}
      beside={text !== '' && (
        <>
          <Search label="Find in the log" hint="Only lines with" value={find} change={setFind} />
          {!end && <PauseButton />}
          <button class="quiet" onClick={download}>Download</button>
        </>
      )}
    >
      {text !== '' && <pre class="log" ref={box} tabIndex={0} aria-label="Log">{shown || 'No line has this text.'}</pre>}
      {end ? <p class={`message ${end.bad ? 'bad' : ''}`}>{end.text}</p> : <p class="message" aria-busy="true">{activity || 'Waiting for output…'}</p>}
    </Panel>
  );
}
