// The picture of turns: a strip for each priority, in which time moves from right to left.
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, span } from '../format';
import { paused, shownTheme } from '../state';

/// A turn, or turns of one source that followed each other directly.
export interface TurnRow {
  sequence: number;
  source: string;
  priority: number;
  start_us: number;
  /// From the start of the first turn to the end of the last.
  span_us: number;
  ran_us: number;
  turns: number;
  items: number;
  /// The longest wait of its turns, from ready to the start.
  waited_us: number;
}

/// Time of which the turns are not known, except for their number.
export interface Gap {
  from_us: number;
  to_us: number;
  turns: number;
}

export interface Recorded {
  /// In the order of time.
  turns: TurnRow[];
  gaps: Gap[];
}

/// The hue of a source. It depends on the name alone, so it is the same in each session; callers with numbers share one.
export function hue(source: string): number {
  let hash = 2166136261;
  for (const letter of source.replace(/-?\d+$/, '')) hash = Math.imul(hash ^ letter.charCodeAt(0), 16777619);
  return (((hash >>> 8) % 24) * 15 + 5) % 360;
}

export function SourceDot({ source }: { source: string }) {
  return <span class="dot" style={{ background: `hsl(${hue(source)} var(--source))` }} />;
}

const kLeft = 28;
const kTop = 18;
const kStrip = 22;
const kBlock = 14;
/// The right edge is so much behind the present that a turn enters there rather than appears later in the middle.
const kBehind_us = 700_000;
const kFrame_ms = 33;

interface View extends Recorded {
  until_us: number;
}

interface Scale {
  width: number;
  from_us: number;
  span_us: number;
  priorities: number[];
}

function xOf(scale: Scale, us: number): number {
  return kLeft + ((us - scale.from_us) / scale.span_us) * (scale.width - kLeft);
}

function yOf(scale: Scale, priority: number): number {
  return kTop + scale.priorities.indexOf(priority) * kStrip + (kStrip - kBlock) / 2;
}

function paintFrame(context: CanvasRenderingContext2D, scale: Scale, style: CSSStyleDeclaration) {
  const { width, span_us, priorities } = scale;
  const bottom = kTop + priorities.length * kStrip;
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const priority of priorities) {
    const top = yOf(scale, priority) - (kStrip - kBlock) / 2;
    context.fillStyle = style.getPropertyValue('--line');
    context.fillRect(kLeft, top + kStrip - 1, width - kLeft, 1);
    context.fillStyle = style.getPropertyValue('--soft');
    context.fillText(String(priority), kLeft - 8, top + kStrip / 2);
  }
  const step_us = span_us / (width < 600 ? 5 : 10);
  for (let back = 0; back <= span_us; back += step_us) {
    const x = xOf(scale, scale.from_us + span_us - back);
    context.fillStyle = style.getPropertyValue('--line');
    context.fillRect(Math.round(x) - 1, kTop, 1, bottom - kTop);
    if (back === span_us) continue;
    context.fillStyle = style.getPropertyValue('--soft');
    context.fillText(back === 0 ? 'now' : `−${span_us > 1e6 ? `${back / 1e6} s` : `${back / 1000} ms`}`, x, kTop / 2);
  }
}

function paintGaps(context: CanvasRenderingContext2D, scale: Scale, gaps: Gap[], style: CSSStyleDeclaration) {
  const height = scale.priorities.length * kStrip;
  context.strokeStyle = style.getPropertyValue('--line');
  context.lineWidth = 2;
  for (const gap of gaps) {
    const left = Math.max(kLeft, xOf(scale, gap.from_us));
    const right = Math.min(scale.width, xOf(scale, gap.to_us));
    if (right <= left) continue;
    context.save();
    context.beginPath();
    context.rect(left, kTop, right - left, height);
    context.clip();
    context.beginPath();
    for (let x = left - height - (left % 8); x < right; x += 8) {
      context.moveTo(x, kTop + height);
      context.lineTo(x + height, kTop);
    }
    context.stroke();
    context.restore();
  }
}

function paintTurns(context: CanvasRenderingContext2D, scale: Scale, turns: TurnRow[], chosen: TurnRow | undefined, style: CSSStyleDeclaration) {
  const tone = style.getPropertyValue('--source');
  const soft = style.getPropertyValue('--soft');
  const colours = new Map<string, string>();
  const painted = new Map<number, { at: number; source: string }>();
  for (let i = turns.length - 1; i >= 0; i--) {
    const turn = turns[i]!;
    if (turn.start_us + turn.span_us < scale.from_us) break;
    const left = xOf(scale, turn.start_us);
    if (left > scale.width) continue;
    const right = xOf(scale, turn.start_us + turn.span_us);
    // Of the turns of one source that share a pixel, one is painted.
    const last = painted.get(turn.priority);
    if (right - left < 1 && last?.at === Math.floor(left) && last.source === turn.source) continue;
    painted.set(turn.priority, { at: Math.floor(left), source: turn.source });
    const top = yOf(scale, turn.priority);
    const ready = Math.max(kLeft, xOf(scale, turn.start_us - turn.waited_us));
    if (left - ready > 1) {
      context.fillStyle = soft;
      context.fillRect(ready, top + kBlock / 2 - 0.5, left - ready, 1);
      context.fillRect(ready, top + 3, 1, kBlock - 6);
    }
    let colour = colours.get(turn.source);
    if (!colour) colours.set(turn.source, (colour = `hsl(${hue(turn.source)} ${tone})`));
    context.fillStyle = colour;
    const begin = Math.max(kLeft, left);
    context.fillRect(begin, top, Math.max(1, right - begin), kBlock);
  }
  if (!chosen) return;
  const left = Math.max(kLeft, xOf(scale, chosen.start_us));
  const right = xOf(scale, chosen.start_us + chosen.span_us);
  if (right < kLeft) return;
  context.strokeStyle = style.getPropertyValue('--text');
  context.lineWidth = 2;
  context.strokeRect(left - 2, yOf(scale, chosen.priority) - 2, Math.max(1, right - left) + 4, kBlock + 4);
}

/// The turn at a place of the picture, at most 4 pixels beside it.
function turnAt(scale: Scale, turns: TurnRow[], x: number, y: number): TurnRow | undefined {
  const priority = scale.priorities[Math.floor((y - kTop) / kStrip)];
  let best: TurnRow | undefined;
  let distance = 4;
  for (let i = turns.length - 1; i >= 0; i--) {
    const turn = turns[i]!;
    if (turn.start_us + turn.span_us < scale.from_us) break;
    if (turn.priority !== priority) continue;
    const left = xOf(scale, turn.start_us);
    const right = xOf(scale, turn.start_us + turn.span_us);
    const away = x < left ? left - x : x > right ? x - right : 0;
    if (away < distance) [best, distance] = [turn, away];
  }
  return best;
}

/// The turn to which an arrow key leads.
function neighbour(scale: Scale, turns: TurnRow[], chosen: TurnRow | undefined, key: string): TurnRow | undefined {
  const visible = turns.filter((turn) => turn.start_us + turn.span_us >= scale.from_us && turn.start_us <= scale.from_us + scale.span_us);
  if (!chosen) return visible.at(-1);
  if (key === 'ArrowLeft') return visible.filter((turn) => turn.sequence < chosen.sequence).at(-1);
  if (key === 'ArrowRight') return visible.find((turn) => turn.sequence > chosen.sequence);
  const step = key === 'ArrowUp' ? -1 : 1;
  for (let strip = scale.priorities.indexOf(chosen.priority) + step; strip >= 0 && strip < scale.priorities.length; strip += step) {
    const those = visible.filter((turn) => turn.priority === scale.priorities[strip]);
    const far = (turn: TurnRow) => Math.abs(turn.start_us - chosen.start_us);
    if (those.length > 0) return those.reduce((best, turn) => (far(turn) < far(best) ? turn : best));
  }
  return undefined;
}

function Told({ turn, scale }: { turn: TurnRow; scale: Scale }) {
  const x = xOf(scale, turn.start_us);
  const top = yOf(scale, turn.priority) + kBlock + 6;
  return (
    <div class="told" role="status" style={x < scale.width / 2 ? { left: `${Math.max(kLeft, x)}px`, top: `${top}px` } : { right: `${Math.max(0, scale.width - x)}px`, top: `${top}px` }}>
      <strong><SourceDot source={turn.source} /> {turn.source || 'a source that is gone'}</strong>
      <dl class="facts">
        <dt>priority</dt><dd>{turn.priority}</dd>
        <dt>began</dt><dd>{span((scale.from_us + scale.span_us - turn.start_us) / 1000)} ago</dd>
        <dt>{turn.turns === 1 ? 'took' : `${count(turn.turns)} turns took`}</dt><dd>{span(turn.ran_us / 1000)}{turn.turns > 1 && ` within ${span(turn.span_us / 1000)}`}</dd>
        <dt>items</dt><dd>{count(turn.items)}</dd>
        <dt>{turn.turns === 1 ? 'waited' : 'waited at most'}</dt><dd>{span(turn.waited_us / 1000)}</dd>
      </dl>
    </div>
  );
}

/// 'now' gives the present by the daemon's clock. The picture stands still while the page is paused, and while the pointer or the focus is in it.
export function Strips(props: { recorded: Recorded; priorities: number[]; seconds: number; now: () => number; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<View>({ turns: [], gaps: [], until_us: 0 });
  const [chosen, setChosen] = useState<TurnRow>();
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [width, setWidth] = useState(0);
  const still = paused.value || pointed || focused;
  const scale = (): Scale => ({ width, from_us: view.current.until_us - props.seconds * 1e6, span_us: props.seconds * 1e6, priorities: props.priorities });
  const height = kTop + props.priorities.length * kStrip;
  const paint = () => {
    const context = canvas.current?.getContext('2d');
    if (!context || width === 0) return;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const at = scale();
    paintFrame(context, at, style);
    context.save();
    context.beginPath();
    context.rect(kLeft, 0, width - kLeft, height);
    context.clip();
    paintGaps(context, at, view.current.gaps, style);
    paintTurns(context, at, view.current.turns, chosen, style);
    context.restore();
  };
  const step = () => {
    if (!still) view.current = { ...props.recorded, until_us: props.now() - kBehind_us };
    paint();
  };
  const latest = useRef(step);
  latest.current = step;
  useEffect(() => {
    const box = canvas.current!.parentElement!;
    const resized = new ResizeObserver(() => setWidth(box.clientWidth));
    resized.observe(box);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    const period = matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : kFrame_ms;
    let asked = 0;
    let last = 0;
    const frame = (at: number) => {
      if (at - last >= period) {
        last = at;
        latest.current();
      }
      asked = requestAnimationFrame(frame);
    };
    if (!still) asked = requestAnimationFrame(frame);
    return () => cancelAnimationFrame(asked);
  }, [still]);
  useEffect(() => latest.current(), [width, height, chosen, still, props.seconds, shownTheme.value]);
  useEffect(() => {
    if (!still) setChosen(undefined);
  }, [still]);
  const place = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    setChosen(turnAt(scale(), view.current.turns, event.clientX - box.left, event.clientY - box.top));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape') canvas.current?.blur();
    if (!/^Arrow/.test(event.key)) return;
    event.preventDefault();
    const found = neighbour(scale(), view.current.turns, chosen, event.key);
    if (found) setChosen(found);
  };
  return (
    <div class="strips">
      <canvas
        ref={canvas}
        role="img"
        tabIndex={0}
        aria-label={props.label}
        width={Math.round(width * devicePixelRatio)}
        height={Math.round(height * devicePixelRatio)}
        style={{ height: `${height}px` }}
        onPointerEnter={() => setPointed(true)}
        onPointerLeave={() => setPointed(false)}
        onPointerMove={place}
        onPointerDown={place}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onKeyDown={press}
      />
      {still && !paused.value && <span class="still">stands still until you leave it</span>}
      {chosen && <Told turn={chosen} scale={scale()} />}
    </div>
  );
}
