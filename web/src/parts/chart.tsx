// A line chart of the last minutes.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { instant, short } from '../format';
import { shownTheme } from '../state';

export interface Line {
  name: string;
  /// A custom property of the style sheet, such as "--accent".
  colour: string;
}

/// 'data': seconds since 1970, then the values of each line. The chart is at least 'seconds' wide.
export function Chart(props: { lines: Line[]; data: (number | null)[][]; seconds: number; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const chosen = shownTheme.value;
  useEffect(() => {
    const box = place.current!;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    // Whole numbers alone.
    const incrs = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((power) => [power, 2 * power, 5 * power]);
    const times = (_: uPlot, ticks: number[]) => ticks.map((tick) => instant(new Date(tick * 1000).toISOString()).slice(11));
    chart.current = new uPlot(
      {
        width: box.clientWidth,
        height: box.clientHeight,
        cursor: { y: false },
        legend: { show: false },
        scales: { x: { range: (_, least, most) => [Math.min(least, most - props.seconds), most] }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
        axes: [{ ...axis, values: times, space: 80 }, { ...axis, size: 56, incrs, values: (_, ticks) => ticks.map(short) }],
        series: [{}, ...props.lines.map((line) => ({ label: line.name, stroke: colour(line.colour), width: 1.5, points: { show: false } }))],
      },
      props.data as uPlot.AlignedData,
      box,
    );
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: box.clientWidth, height: box.clientHeight }));
    resized.observe(box);
    return () => {
      resized.disconnect();
      chart.current?.destroy();
    };
  }, [chosen, props.lines.length]);
  useEffect(() => chart.current?.setData(props.data as uPlot.AlignedData), [props.data]);
  return (
    <>
      <div class="chart" ref={place} role="img" aria-label={props.label} />
      <p class="note legend">
        {props.lines.map((line, i) => (
          <span><span class="dot" style={{ background: `var(${line.colour})` }} /> {line.name}: {short(props.data[i + 1]?.at(-1) ?? 0)}</span>
        ))}
      </p>
    </>
  );
}
