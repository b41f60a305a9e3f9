// One small chart: lines over updates, alarms on them, and a cursor that all charts share.

const PLOT = { width: 320, height: 124, left: 46, right: 14, top: 12, bottom: 16 };
const INNER = {
  width: PLOT.width - PLOT.left - PLOT.right,
  height: PLOT.height - PLOT.top - PLOT.bottom,
};

function niceTicks(low, high, wanted) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++)
    ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

// The range of an axis: zero belongs to it unless all values lie far from zero.
function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!known(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (low > 0 && low < 0.6 * high) low = 0;
  if (high < 0 && high > 0.6 * low) high = 0;
  if (low === high)
    [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const room = 0.05 * (high - low);
  return [low === 0 ? 0 : low - room, high === 0 ? 0 : high + room];
}

// Mean over a window of neighbours, a twentieth of the curve wide.
function smoothed(values) {
  const half = Math.max(Math.round(values.length / 40), 1);
  return values.map((_, i) => {
    const near = values.slice(Math.max(i - half, 0), i + half + 1).filter(known);
    return near.length ? near.reduce((a, b) => a + b) / near.length : null;
  });
}

function linePath(steps, values, x, y) {
  let path = '';
  let pen = false;
  steps.forEach((step, i) => {
    if (known(values[i]))
      path += `${pen ? 'L' : 'M'}${x(step).toFixed(1)} ${y(values[i]).toFixed(1)}`;
    pen = known(values[i]);
  });
  return path;
}

class Chart {
  constructor(chart, axis) {
    this.series = Object.entries(chart.series).map(([tag, label], i) => {
      const [steps, values] = data.curves[tag];
      return {
        label,
        steps,
        values,
        colour: `var(${SERIES[i % SERIES.length]})`,
        dash: DASHES[i % DASHES.length],
      };
    });
    this.tags = Object.keys(chart.series);
    this.title = chart.title;
    this.axis = axis;
    this.values = this.series.map(() => el('b'));
    const legend = this.series.map((s, i) =>
      el(
        'span',
        { class: 'key' },
        svg(
          'svg',
          { width: 18, height: 8, 'aria-hidden': true },
          svg('line', {
            x1: 0,
            x2: 18,
            y1: 4,
            y2: 4,
            stroke: s.colour,
            'stroke-dasharray': s.dash,
            'stroke-width': 2,
          }),
        ),
        this.series.length > 1 || s.label !== chart.title.split('/').pop() ? `${s.label} ` : '',
        this.values[i],
      ),
    );
    this.plot = svg('svg', { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, 'aria-hidden': true });
    this.node = el(
      'figure',
      { class: 'chart', tabindex: -1, role: 'img', 'aria-label': this.summary() },
      el(
        'figcaption',
        {},
        el('h3', { text: chart.title }),
        chart.note ? el('span', { class: 'note', text: chart.note }) : null,
      ),
      el('div', { class: 'legend' }, ...legend),
      this.plot,
    );
    this.draw(false);
    this.point(null);
  }

  summary() {
    const parts = this.series.map(({ label, steps, values }) => {
      const there = values.filter(known);
      if (!there.length) return `${label}: nothing`;
      return (
        `${label}: ${num(values[0])} at update ${steps[0]}, ${num(values.at(-1))} at update ${steps.at(-1)}, ` +
        `between ${num(Math.min(...there))} and ${num(Math.max(...there))}`
      );
    });
    return `${this.title}. ${parts.join('; ')}.`;
  }

  x(step) {
    const [first, last] = this.axis;
    return PLOT.left + INNER.width * (last > first ? (step - first) / (last - first) : 0.5);
  }

  draw(smooth) {
    const [low, high] = range(this.series.flatMap((s) => s.values));
    const x = (step) => this.x(step);
    const y = (value) => PLOT.top + INNER.height * (1 - (value - low) / (high - low));
    const rows = niceTicks(low, high, 5).flatMap((tick) => [
      svg('line', {
        class: 'grid',
        x1: PLOT.left,
        x2: PLOT.width - PLOT.right,
        y1: y(tick),
        y2: y(tick),
      }),
      svg('text', { x: PLOT.left - 5, y: y(tick) + 3, 'text-anchor': 'end' }, num(tick, 3)),
    ]);
    const columns = niceTicks(...this.axis, 4)
      .filter(Number.isInteger)
      .map((tick) =>
        svg('text', { x: x(tick), y: PLOT.height - 4, 'text-anchor': 'middle' }, num(tick)),
      );
    const lines = this.series.flatMap((s) => {
      const raw = svg('path', {
        class: 'line',
        d: linePath(s.steps, s.values, x, y),
        stroke: s.colour,
        'stroke-dasharray': s.dash,
        opacity: smooth ? 0.25 : 1,
      });
      const mean = smooth
        ? [
            svg('path', {
              class: 'line',
              d: linePath(s.steps, smoothed(s.values), x, y),
              stroke: s.colour,
              'stroke-dasharray': s.dash,
            }),
          ]
        : [];
      const dots =
        s.steps.length > 30
          ? []
          : s.steps.map((step, i) =>
              known(s.values[i])
                ? svg('circle', { cx: x(step), cy: y(s.values[i]), r: 1.8, fill: s.colour })
                : null,
            );
      return [raw, ...mean, ...dots];
    });
    this.cursor = svg('line', {
      class: 'cursor',
      y1: PLOT.top - 4,
      y2: PLOT.height - PLOT.bottom,
      visibility: 'hidden',
    });
    this.plot.replaceChildren(
      ...[
        ...rows,
        ...columns,
        ...alarmMarks(x, PLOT.height - PLOT.bottom, this.tags),
        ...lines,
        this.cursor,
      ].filter(Boolean),
    );
  }

  // The update under the pointer.
  stepAt(clientX) {
    const box = this.plot.getBoundingClientRect();
    const share = (((clientX - box.left) / box.width) * PLOT.width - PLOT.left) / INNER.width;
    const [first, last] = this.axis;
    return Math.round(first + Math.min(Math.max(share, 0), 1) * (last - first));
  }

  // Shows the values at a step, or the last ones.
  point(step) {
    this.cursor.setAttribute('visibility', step === null ? 'hidden' : 'visible');
    if (step !== null)
      this.cursor.setAttribute('transform', `translate(${this.x(step).toFixed(1)} 0)`);
    this.series.forEach((s, i) => {
      const place = step === null ? s.steps.length - 1 : s.steps.findLastIndex((at) => at <= step);
      this.values[i].textContent = num(s.values[place]);
    });
  }
}
