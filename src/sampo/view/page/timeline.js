// The way along a run: which update's episodes are read, above its success and alarms.

const LINE = { width: 1200, height: 58, left: 8, right: 8, top: 10, bottom: 12 };
let timelineKind = 'update';

function drawTimeline() {
  const axis = axisOfRun();
  const x = (step) =>
    LINE.left +
    (LINE.width - LINE.left - LINE.right) *
      (axis[1] > axis[0] ? (step - axis[0]) / (axis[1] - axis[0]) : 0.5);
  const y = (value) => LINE.top + (LINE.height - LINE.top - LINE.bottom) * (1 - value);
  const rate = (kind) => data.files.filter((f) => f.kind === kind && f.episodes);
  const lines = [
    ['update', '--c1', 'rollout/success_rate'],
    ['validation', '--c2', 'eval/success_rate'],
  ].map(([kind, colour, tag]) => {
    const [steps, values] = data.curves[tag] || [
      rate(kind).map((f) => f.step),
      rate(kind).map((f) => f.successes / f.episodes),
    ];
    return svg('path', {
      class: 'line',
      d: linePath(steps, values, x, y),
      stroke: `var(${colour})`,
      'stroke-dasharray': kind === 'update' ? '' : '5 3',
    });
  });
  const marks = readable(timelineKind).map(({ file }) =>
    svg('line', {
      class: 'tick',
      x1: x(file.step),
      x2: x(file.step),
      y1: LINE.height - 8,
      y2: LINE.height - 2,
    }),
  );
  const chosen = state.file === null ? null : data.files[state.file];
  const cursor = chosen
    ? [
        svg('line', {
          class: 'cursor',
          x1: x(chosen.step),
          x2: x(chosen.step),
          y1: 4,
          y2: LINE.height - 8,
        }),
        svg('circle', { class: 'knob', cx: x(chosen.step), cy: LINE.height - 5, r: 5 }),
      ]
    : [];
  const plot = svg(
    'svg',
    {
      viewBox: `0 0 ${LINE.width} ${LINE.height}`,
      preserveAspectRatio: 'none',
      'aria-hidden': true,
    },
    svg('line', { class: 'grid', x1: 0, x2: LINE.width, y1: y(0), y2: y(0) }),
    svg('line', { class: 'grid', x1: 0, x2: LINE.width, y1: y(1), y2: y(1) }),
    ...alarmMarks(x, LINE.height - 10),
    ...lines,
    ...marks,
    ...cursor,
  );
  const slider = el(
    'div',
    {
      class: 'slider',
      tabindex: 0,
      role: 'slider',
      id: 'slider',
      'aria-label': 'Episodes of',
      'aria-valuemin': axis[0],
      'aria-valuemax': axis[1],
      'aria-valuenow': chosen ? chosen.step : axis[0],
      'aria-valuetext': chosen ? fileName(chosen) : 'nothing chosen',
    },
    plot,
  );
  slider.addEventListener('keydown', timelineKey);
  slider.addEventListener('click', (event) => {
    const box = slider.getBoundingClientRect();
    const share =
      (((event.clientX - box.left) / box.width) * LINE.width - LINE.left) /
      (LINE.width - LINE.left - LINE.right);
    const file = nearestFile(axis[0] + share * (axis[1] - axis[0]), timelineKind);
    if (file) openFile(file.place);
  });
  const hadFocus = document.activeElement?.id === 'slider';
  $('timeline').replaceChildren(timelineHead(chosen), slider);
  if (hadFocus) slider.focus({ preventScroll: true });
}

const fileName = (file) =>
  `${file.kind === 'update' ? 'update' : 'evaluation after update'} ${file.step}`;

function timelineHead(file) {
  const kinds = [
    ['update', 'Rollouts'],
    ['validation', 'Evaluations'],
  ].map(([kind, label]) =>
    el('button', {
      class: 'segment',
      'aria-pressed': String(timelineKind === kind),
      disabled: !readable(kind).length,
      text: label,
      onclick: () => turnTo(kind),
    }),
  );
  return el(
    'div',
    { class: 'timeline-head' },
    el('span', { class: 'segments' }, ...kinds),
    el('button', { class: 'quiet', 'aria-label': 'Earlier', text: '‹', onclick: () => step(-1) }),
    el('h2', { text: file ? fileName(file) : 'no episodes' }),
    el('button', { class: 'quiet', 'aria-label': 'Later', text: '›', onclick: () => step(1) }),
    el('span', { class: 'told', text: file ? told(file) : '' }),
    el(
      'span',
      { class: 'legend' },
      el('span', { class: 'key' }, el('i', { style: 'background:var(--c1)' }), 'rollout success'),
      el('span', { class: 'key' }, el('i', { style: 'background:var(--c2)' }), 'held-out success'),
    ),
  );
}

// What was played and what became of it, in a sentence.
function told(file) {
  const parts = [`${many(file.episodes, 'episode')}, ${num(file.successes)} solved`];
  if (file.kind === 'update') {
    parts.push(`${num(file.kept)} trained on`);
    const dropped = Object.entries(file.dropped).map(
      ([reason, count]) => `${words(reason)} ${num(count)}`,
    );
    if (dropped.length) parts.push(`left out: ${dropped.join(', ')}`);
  }
  if (file.failed) parts.push(`${num(file.failed)} failed`);
  if (state.content?.left_out)
    parts.push(`${num(state.content.left_out)} of them are only in episodes/${file.file}`);
  return parts.join(' · ');
}

function turnTo(kind) {
  timelineKind = kind;
  const at = state.file === null ? Infinity : data.files[state.file].step;
  const file = nearestFile(at, kind);
  if (file) openFile(file.place).then(drawTimeline);
}

function step(by) {
  const files = readable(timelineKind);
  const at = files.findIndex(({ place }) => place === state.file);
  const to = files[Math.min(Math.max(at + by, 0), files.length - 1)];
  if (to) openFile(to.place);
}

function timelineKey(event) {
  const by = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -10,
    PageUp: 10,
    Home: -Infinity,
    End: Infinity,
  }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  step(by);
}
