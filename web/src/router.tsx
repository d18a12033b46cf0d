// The address is the state of a page: a path below /console/ and a query. Keys of rows are one part of the path, encoded.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

const kRoot = '/console/';

export interface Place {
  /// The decoded parts of the path.
  parts: string[];
  query: URLSearchParams;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): Place {
  const path = location.pathname.startsWith(kRoot) ? location.pathname.slice(kRoot.length) : '';
  return { parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(location.search) };
}

export const place = signal<Place>(read());
addEventListener('popstate', () => (place.value = read()));

/// The address of a page. Parameters that are empty are left out.
export function to(parts: string[], query: Record<string, string | undefined> = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) given.set(name, value);
  const text = given.toString();
  return kRoot + parts.map(encodeURIComponent).join('/') + (text ? `?${text}` : '');
}

export function go(address: string, replace = false) {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  place.value = read();
  if (!replace) scrollTo(0, 0);
}

/// Changes one parameter of the address. Typing in a field makes no entry of the browser's history.
export function setQuery(name: string, value: string) {
  const query = Object.fromEntries(place.value.query);
  query[name] = value;
  go(to(place.value.parts, query), true);
}

export function A(props: { href: string; class?: string | undefined; children: ComponentChildren; title?: string | undefined; current?: boolean | undefined; replace?: boolean }) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(props.href, props.replace);
  };
  return (
    <a href={props.href} class={props.class} title={props.title} aria-current={props.current ? 'page' : undefined} onClick={follow}>
      {props.children}
    </a>
  );
}
