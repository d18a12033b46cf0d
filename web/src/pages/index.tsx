// All pages, in the order of the menu.
import type { ComponentChildren } from 'preact';
import { session } from '../api';
import { Access } from './access';
import { ExecutorsPage } from './executors';
import { Jobs } from './jobs';
import { Log } from './log';
import { Now } from './now';
import { Parked } from './parked';
import { Schedulers } from './schedulers';
import { Switch } from './switch';
import { Tables } from './tables';
import { Turns } from './turns';

export interface Entry {
  /// The first part of its path; empty: the page of the root.
  path: string;
  name: string;
  /// "g" and this letter go to it.
  key: string;
  /// Only admins have it in the menu.
  admin?: boolean;
  /// Also for tokens of a group of executors.
  group?: boolean;
  show: (parts: string[]) => ComponentChildren;
}

export const kPages: Entry[] = [
  { path: '', name: 'Now', key: 'n', show: () => <Now /> },
  { path: 'turns', name: 'Turns', key: 'u', show: () => <Turns /> },
  { path: 'tables', name: 'Tables', key: 't', show: (parts) => <Tables parts={parts.slice(1)} /> },
  { path: 'parked', name: 'Parked', key: 'p', show: () => <Parked /> },
  { path: 'switch', name: 'Switch', key: 's', show: () => <Switch /> },
  { path: 'jobs', name: 'Jobs', key: 'j', group: true, show: (parts) => <Jobs parts={parts.slice(1)} /> },
  { path: 'executors', name: 'Executors', key: 'e', group: true, show: () => <ExecutorsPage /> },
  { path: 'schedulers', name: 'Schedulers', key: 'c', show: () => <Schedulers /> },
  { path: 'log', name: 'Log', key: 'l', show: () => <Log /> },
  { path: 'access', name: 'Access', key: 'a', admin: true, show: () => <Access /> },
];

/// The pages of this session. A token of workers has none.
export function pages(): Entry[] {
  const { role, group } = session.value ?? {};
  return kPages.filter((page) => role !== 'worker' && (!page.admin || role === 'admin') && (!group || page.group));
}

/// The page of a path, or the first one of the session.
export function pageOf(parts: string[]): Entry | undefined {
  const mine = pages();
  return mine.find((page) => page.path === (parts[0] ?? '')) ?? mine[0];
}
