// What the pages of jobs share: the answers of the daemon, and how they are asked for.
import { ApiError, call, type Json, mayWrite, session } from '../api';
import { now } from '../clock';
import { span } from '../format';
import type { Rows } from '../parts/paged';
import type { Kind } from '../parts/parts';
import { to } from '../router';

/// A job as `job-put` takes it; members with their default value are absent.
export type Definition = { name: string } & Record<string, Json>;

export interface JobRow extends Record<string, unknown> {
  name: string;
  handler: string;
  schedule?: string;
  zone?: string;
  owner?: string;
  tags?: string[];
  parents?: string[];
  stop_note?: string;
  running: boolean;
  next: string | null;
  damaged?: string;
  /// Of the last run that has ended.
  last_state?: string | null;
  last_ended?: string | null;
  last_success?: string | null;
  warning?: string;
  under_way?: { run: number; begun: string | null; percent?: number; place?: string; trouble?: string }[];
  retried?: { run: number; note: string }[];
}

export interface Run {
  job?: string;
  run: number;
  scheduled: string;
  band: string;
  state: string;
  attempt: number;
  begun: string | null;
  ended: string | null;
  parents?: number[];
  missed?: number;
  rerun_of?: number;
  parameters?: string;
  address?: string;
  trace?: string;
  note?: string;
  place?: string;
  activity?: string;
  trouble?: string;
  progress?: { percent: number; text?: string };
  /// Of a broadcast: what it does at each executor. Of a run that was asked for with its details.
  shards?: Shard[];
  shards_beyond?: number;
  /// Of a run that was tried again: its attempts that have ended, as far as the daemon has seen them.
  attempts?: Attempt[];
}

interface Times {
  begun: string | null;
  ended: string | null;
  note?: string;
}
export interface Shard extends Times {
  index: number;
  address: string;
  state: string;
}
export interface Attempt extends Times {
  attempt: number;
  state: string;
}

/// The members of an answer of `job` that do not belong to the definition.
const kAnswers = ['running', 'next', 'damaged', 'warning', 'under_way', 'retried'];
/// States in which a run stays.
const kEnds = ['succeeded', 'failed', 'timed-out', 'killed', 'discarded', 'skipped'];

export const hasEnded = (run: Run) => kEnds.includes(run.state);
export const ranFor = (run: { begun: string | null; ended: string | null }) => (run.begun === null ? 0 : Math.max(0, (run.ended ? Date.parse(run.ended) : now.value) - Date.parse(run.begun)));
/// How long after its instant a run has begun. The begin of a run that was tried again is that of its last attempt.
export function lateness(run: Run): string | undefined {
  return run.begun === null || run.attempt > 1 || run.band === 'backfill' ? undefined : span(Math.max(0, Date.parse(run.begun) - Date.parse(run.scheduled)));
}
export const jobAt = (name: string) => to(['jobs', name]);
export const runAt = (name: string, run: number) => to(['jobs', name, String(run)]);

/// A token of a group of executors commands its jobs, and does not define any.
export const mayDefine = () => mayWrite() && !session.value?.group;

/// The bytes of a text of the daemon, which has \xHH for bytes that are no safe text.
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const utf8 = new TextEncoder().encode(text);
  const bytes = new Uint8Array(utf8.length);
  let length = 0;
  for (let at = 0; at < utf8.length; ) {
    const digits = utf8[at] === 0x5c && utf8[at + 1] === 0x78 ? String.fromCharCode(utf8[at + 2] ?? 0, utf8[at + 3] ?? 0) : '';
    const isByte = /^[0-9a-fA-F]{2}$/.test(digits);
    bytes[length++] = isByte ? parseInt(digits, 16) : utf8[at]!;
    at += isByte ? 4 : 1;
  }
  return bytes.slice(0, length);
}

export function plain(text: string): string {
  return text.includes('\\x') ? new TextDecoder().decode(bytesOf(text)) : text;
}

/// A text for an argument, of which the daemon decodes each \xHH.
export function escaped(text: string): string {
  return text.replace(/\\(?=x[0-9a-fA-F]{2})/g, '\\x5c');
}

function plainValue(value: Json): Json {
  if (typeof value === 'string') return plain(value);
  return Array.isArray(value) ? value.map(plainValue) : value;
}

export function definitionOf(job: JobRow): Definition {
  const members = Object.entries(job as Record<string, Json>).filter(([name]) => !kAnswers.includes(name));
  return Object.fromEntries(members.map(([name, value]) => [name, plainValue(value)])) as Definition;
}

export interface JobFilter {
  find: string;
  state: string;
  tag: string;
  owner: string;
}

const kPage = 200;

export function listJobs({ find, state, tag, owner }: JobFilter, after: string | undefined, abort: AbortSignal): Promise<Rows<JobRow>> {
  const filter = { search: escaped(find) || undefined, state: state || undefined, tag: tag || undefined, owner: owner || undefined };
  return call<Rows<JobRow>>('jobs', { ...filter, count: kPage, ends: true, after }, abort);
}

export const kHour = 3_600_000;
export const kDay = 24 * kHour;

/// A page of runs has its cursor if it is full.
function paged(rows: Run[], count: number): Rows<Run> {
  return rows.length < count ? { rows } : { rows, next: String(rows.at(-1)!.run) };
}

export async function failures(since: number, before: string | undefined, abort: AbortSignal, max = kPage): Promise<Rows<Run>> {
  const { rows } = await call<{ rows: Run[] }>('job-failures', { since: new Date(since).toISOString(), before: before ? Number(before) : undefined, max }, abort);
  return paged(rows, max);
}

export async function runsOf(name: string, before: string | undefined, abort: AbortSignal, max = 50, details?: true): Promise<Rows<Run>> {
  const { rows } = await call<{ rows: Run[] }>('job-runs', { name, before: before ? Number(before) : undefined, max, details }, abort);
  return paged(rows, max);
}

export interface Instant {
  at: string;
  /// The same in the zone of the job.
  local: string;
  clock_change: boolean;
}
export interface Preview {
  words?: string;
  zone?: string;
  instants: Instant[];
  troubles?: string[];
}

export const kInstants = 10;

/// The daemon runs no jobs.
export function isUnknown(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'unimplemented' || (error.code === 'not-found' && error.message.startsWith('unknown command')));
}

/// What a definition means. A token of a group may not ask for it.
export function preview(definition: Definition, abort: AbortSignal): Promise<Preview> {
  return call<Preview>('job-preview', { definition: escaped(JSON.stringify(definition)), count: kInstants }, abort);
}

/// The colour of a run in a strip; the title has the word.
export const kRunKinds: Record<string, Kind> = { succeeded: 'good', failed: 'bad', 'timed-out': 'bad', killed: 'warn', running: 'busy', due: 'busy' };
