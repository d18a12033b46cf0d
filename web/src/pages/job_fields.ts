// The fields of a job's definition: how the form asks for them, and how pages show them.
import type { Json } from '../api';
import type { Definition } from './jobs_data';

export interface Field {
  name: string;
  label: string;
  kind: 'line' | 'area' | 'number' | 'duration' | 'list' | 'choice' | 'schedule' | 'zone';
  values?: readonly string[];
  /// What an absent member means.
  initial?: string;
  hint?: string;
  /// It stands below "More".
  rare?: boolean;
}

export const kFields: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'line', hint: "letters, digits and . _ - /" },
  { name: 'handler', label: 'Handler', kind: 'line', hint: 'log, none, table, command/NAME or executor/GROUP/NAME' },
  { name: 'parameters', label: 'Parameters', kind: 'area' },
  { name: 'schedule', label: 'Schedule', kind: 'schedule', initial: 'manual' },
  { name: 'zone', label: 'Time zone', kind: 'zone', hint: 'UTC' },
  { name: 'overlap', label: 'While another run is running', kind: 'choice', values: ['serial', 'discard', 'cover', 'concurrent'], initial: 'serial' },
  { name: 'misfire', label: 'When it was missed', kind: 'choice', values: ['fire-once', 'fire-last', 'fire-all', 'do-nothing'], initial: 'fire-once' },
  { name: 'retries', label: 'Retries', kind: 'number', initial: '0' },
  { name: 'timeout_ms', label: 'Timeout of an attempt', kind: 'duration', hint: 'none, or such as 10min' },
  { name: 'priority', label: 'Priority, 0 to 63', kind: 'number', initial: '8' },
  { name: 'parents', label: 'Runs after the jobs', kind: 'list', hint: 'names, with commas between' },
  { name: 'tags', label: 'Tags', kind: 'list', hint: 'with commas between' },
  { name: 'owner', label: 'Owner', kind: 'line' },
  { name: 'note', label: 'Note for people', kind: 'line' },
  { name: 'requires', label: 'Facts that must hold', kind: 'list', hint: 'such as job-succeeded:backup', rare: true },
  { name: 'backoff_ms', label: 'Wait before the first retry', kind: 'duration', initial: '1s', rare: true },
  { name: 'concurrency', label: 'Runs at a time, if concurrent', kind: 'number', initial: '1', rare: true },
  { name: 'overlap_scope', label: 'Runs that count as others', kind: 'choice', values: ['executor', 'job'], initial: 'executor', rare: true },
  { name: 'misfire_runs', label: 'Runs of fire-last', kind: 'number', initial: '1', rare: true },
  {
    name: 'route',
    label: 'Which executor or worker',
    kind: 'choice',
    values: ['default', 'first', 'last', 'round', 'random', 'consistent-hash', 'least-frequently-used', 'least-recently-used', 'failover', 'busyover', 'sharding-broadcast'],
    initial: 'default',
    rare: true,
  },
  { name: 'dialect', label: 'Dialect of the cron expression', kind: 'choice', values: ['', 'quartz', 'spring', 'unix', 'unix6', 'systemd', 'robfig'], initial: '', rare: true },
  { name: 'dst', label: 'When the clock changes', kind: 'choice', values: ['vixie', 'quartz', 'spring', 'systemd'], initial: 'vixie', rare: true },
  { name: 'from', label: 'Not due before', kind: 'line', hint: '2026-12-01T00:00:00Z', rare: true },
  { name: 'until', label: 'Not due from', kind: 'line', hint: '2027-01-01T00:00:00Z', rare: true },
  { name: 'excluded', label: 'Days without it', kind: 'line', hint: 'SAT, SUN, 12-24..01-01', rare: true },
  { name: 'jitter_ms', label: 'Random delay of up to', kind: 'duration', hint: 'none, or such as 30s', rare: true },
];

const kUnits = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000], ['ms', 1]] as const;

/// 90000 -> "90s", exactly.
function durationText(ms: number): string {
  const [unit, size] = kUnits.find(([, of]) => ms > 0 && ms % of === 0) ?? ['s', 1000];
  return `${ms / size}${unit}`;
}

/// The text of a value as a field has it.
export function shown(field: Field, value: Json | undefined): string {
  if (value === undefined || value === null) return field.initial ?? '';
  if (Array.isArray(value)) return value.join(', ');
  return field.kind === 'duration' && typeof value === 'number' ? durationText(value) : String(value);
}

/// What the text of a field means; undefined: its default. A text without a meaning stays a text, and the daemon says what is wrong with it.
function meant(field: Field, text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === (field.initial ?? '') || (trimmed === '' && field.kind !== 'area')) return undefined;
  if (field.kind === 'number') return /^\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
  if (field.kind === 'list') return trimmed.split(',').map((one) => one.trim()).filter(Boolean);
  if (field.kind === 'duration') {
    const [, digits, unit] = /^(\d+)\s*(d|h|min|s|ms)$/.exec(trimmed) ?? [];
    const size = kUnits.find(([name]) => name === unit)?.[1];
    const ms = size === undefined ? trimmed : Number(digits) * size;
    return ms === meantInitial(field) ? undefined : ms;
  }
  return field.kind === 'area' ? text : trimmed;
}

function meantInitial(field: Field): number {
  const [, digits, unit] = /^(\d+)(\w+)$/.exec(field.initial ?? '0s')!;
  return Number(digits) * kUnits.find(([name]) => name === unit)![1];
}

export type Texts = Record<string, string>;

export function textsOf(definition: Partial<Definition>): Texts {
  return Object.fromEntries(kFields.map((field) => [field.name, shown(field, definition[field.name])]));
}

/// The definition that the texts mean. Members that have no field stay those of 'before'.
export function definitionFrom(texts: Texts, before: Partial<Definition>): Definition {
  const definition: Record<string, Json> = { ...(before as Record<string, Json>) };
  for (const field of kFields) {
    const value = meant(field, texts[field.name] ?? '');
    if (value === undefined) delete definition[field.name];
    else definition[field.name] = value;
  }
  return { ...definition, name: (texts.name ?? '').trim() };
}

export interface Change {
  label: string;
  before: string;
  after: string;
}

export function changesOf(before: Partial<Definition>, after: Definition): Change[] {
  return kFields
    .map((field) => ({ label: field.label, before: shown(field, before[field.name]), after: shown(field, after[field.name]) }))
    .filter((change) => change.before !== change.after);
}
