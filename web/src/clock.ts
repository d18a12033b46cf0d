// The time of the server. The browser's clock may differ from it.
import { signal } from '@preact/signals';

/// The field Date has whole seconds.
const kSecond = 1000;
/// Milliseconds that the server's clock is ahead of the browser's.
let ahead = 0;

export const serverTime = () => Date.now() + ahead;

/// The server's time, each second, for texts such as "in 5 s".
export const now = signal(serverTime());
setInterval(() => {
  if (!document.hidden) now.value = serverTime();
}, kSecond);

/// Takes the field Date of an answer to a request that was sent at 'sent' by Date.now(), when the answer arrives.
export function noteDate(date: string | null, sent: number) {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return;
  // The server wrote the field between 'sent' and now. The difference changes only as far as that demands, so a slow answer does not move it.
  const before = ahead;
  ahead = Math.min(Math.max(ahead, at - Date.now()), at + kSecond - sent);
  if (Math.abs(ahead - before) >= kSecond) now.value = serverTime();
}
