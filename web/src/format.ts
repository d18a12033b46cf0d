// Numbers and times as people read them.
import { now } from './clock';
import { zone } from './state';

const kGroups = new Intl.NumberFormat('en-US');

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : kGroups.format(Math.round(value));
}

/// "1 job", "2 jobs".
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/// A text from outside with its controls of direction as \u202e: such a text looks like another one. Forms have the text itself.
export function visible(text: string): string {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/// 1234567 -> "1.23 M".
export function short(value: number): string {
  for (const [size, unit] of [[1e9, ' G'], [1e6, ' M'], [1e4, ' k']] as const) {
    if (value >= size) return `${(value / (unit === ' k' ? 1e3 : size)).toPrecision(3)}${unit}`;
  }
  return count(value);
}

export function bytes(value: number): string {
  for (const [size, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']] as const) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  }
  return `${value} B`;
}

/// A duration of so many milliseconds: "3.2 s", "4 min", "2.5 h".
export function span(ms: number): string {
  if (ms <= 0) return '0 s';
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 100) return `${Math.round(minutes)} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${hours.toFixed(1)} h` : `${(hours / 24).toFixed(1)} d`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

const kHour = 3_600_000;

function wall(date: Date): string {
  return `${date.getFullYear()} ${date.getMonth()} ${date.getDate()} ${date.getHours()} ${date.getMinutes()}`;
}

function offset(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
}

/// An instant (RFC 3339) in the chosen zone: "2026-11-29 12:22:08".
export function instant(text: string | null | undefined, fraction = false): string {
  if (!text) return '–';
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const utc = zone.value === 'utc';
  const day = utc
    ? `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
    : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = utc
    ? `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
    : `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  // In the hour that the clock repeats, the offset tells which one is meant.
  const repeated = !utc && [-kHour, kHour].some((ms) => wall(new Date(date.getTime() + ms)) === wall(date));
  return `${day} ${time}${fraction ? `.${String(date.getUTCMilliseconds()).padStart(3, '0')}` : ''}${repeated ? ` ${offset(date)}` : ''}`;
}

/// How far an instant is from now: "in 5 min", "3 s ago".
export function away(text: string | null | undefined): string {
  if (!text) return '–';
  const difference = new Date(text).getTime() - now.value;
  if (Math.abs(difference) < 1000) return 'now';
  return difference > 0 ? `in ${span(difference)}` : `${span(-difference)} ago`;
}

export const kLocalZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
