// All pages, in the order of the menu.
import type { ComponentChildren } from 'preact';
import { Now } from './now';
import { Parked } from './parked';
import { Tables } from './tables';
import { Turns } from './turns';

export interface Entry {
  /// The first part of its path; empty: the page of the root.
  path: string;
  name: string;
  /// "g" and this letter go to it.
  key: string;
  show: (parts: string[]) => ComponentChildren;
}

export const kPages: Entry[] = [
  { path: '', name: 'Now', key: 'n', show: () => <Now /> },
  { path: 'turns', name: 'Turns', key: 'u', show: () => <Turns /> },
  { path: 'tables', name: 'Tables', key: 't', show: (parts) => <Tables parts={parts.slice(1)} /> },
  { path: 'parked', name: 'Parked', key: 'p', show: () => <Parked /> },
];

export function pageOf(parts: string[]): Entry {
  return kPages.find((page) => page.path === (parts[0] ?? '')) ?? kPages[0]!;
}
