// All pages, in the order of the menu.
import type { ComponentChildren } from 'preact';
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
  show: (parts: string[]) => ComponentChildren;
}

export const kPages: Entry[] = [
  { path: '', name: 'Now', key: 'n', show: () => <Now /> },
  { path: 'turns', name: 'Turns', key: 'u', show: () => <Turns /> },
  { path: 'tables', name: 'Tables', key: 't', show: (parts) => <Tables parts={parts.slice(1)} /> },
  { path: 'parked', name: 'Parked', key: 'p', show: () => <Parked /> },
  { path: 'switch', name: 'Switch', key: 's', show: () => <Switch /> },
  { path: 'jobs', name: 'Jobs', key: 'j', show: (parts) => <Jobs parts={parts.slice(1)} /> },
  { path: 'executors', name: 'Executors', key: 'e', show: () => <ExecutorsPage /> },
  { path: 'schedulers', name: 'Schedulers', key: 'c', show: () => <Schedulers /> },
  { path: 'log', name: 'Log', key: 'l', show: () => <Log /> },
  { path: 'access', name: 'Access', key: 'a', admin: true, show: () => <Access /> },
];

export function pageOf(parts: string[]): Entry {
  return kPages.find((page) => page.path === (parts[0] ?? '')) ?? kPages[0]!;
}
