// The panel of curves: headline numbers, alarms, charts by section, one cursor for all of them.

let charts = [];
let pinned = null; // the step that a click or the keyboard chose
let focused = 0;

function axisOfRun() {
  let [first, last] = [Infinity, -Infinity];
  for (const [steps] of Object.values(data.curves))
    [first, last] = [Math.min(first, steps[0]), Math.max(last, steps.at(-1))];
  for (const file of data.files)
    [first, last] = [Math.min(first, file.step), Math.max(last, file.step)];
  return first <= last ? [first, last] : [0, 1];
}

function drawCurves() {
  const axis = axisOfRun();
  charts = data.charts.map((chart) =>
    Object.assign(new Chart(chart, axis), { section: chart.section }),
  );
  const sections = new Map();
  for (const chart of charts)
    sections.set(chart.section, [...(sections.get(chart.section) || []), chart]);
  const nodes = [...sections].map(([name, members]) => {
    const folded = data.folded.includes(name);
    return el(
      folded ? 'details' : 'section',
      { class: 'section' },
      el(
        folded ? 'summary' : 'div',
        { class: 'head' },
        el('h2', { text: name }),
        folded ? el('span', { class: 'note', text: many(members.length, 'chart') }) : null,
        name === 'Time' ? timeBar() : null,
      ),
      el('div', { class: 'grid' }, ...members.map((chart) => chart.node)),
    );
  });
  $('charts').replaceChildren(
    ...(nodes.length ? nodes : [el('p', { class: 'empty', text: 'This run has no curves.' })]),
  );
  $('tiles').replaceChildren(...tiles());
  $('alarms').replaceChildren(...alarmList());
  $('curve-tools').hidden = !charts.length;
  if (charts.length) charts[0].node.tabIndex = 0;
  listen(axis);
}

function listen(axis) {
  const home = $('charts');
  const under = (event) => charts.find((chart) => chart.node === event.target.closest?.('.chart'));
  home.addEventListener('pointermove', (event) => {
    const chart = under(event);
    pointAll(chart ? chart.stepAt(event.clientX) : pinned);
  });
  home.addEventListener('pointerleave', () => pointAll(pinned));
  home.addEventListener('click', (event) => {
    const chart = under(event);
    if (chart) pin(chart.stepAt(event.clientX));
  });
  home.addEventListener('focusin', (event) => {
    const chart = under(event);
    if (chart) focused = charts.indexOf(chart);
  });
  home.addEventListener('keydown', (event) => chartKey(event, axis));
  $('smooth').addEventListener('change', (event) => {
    for (const chart of charts) chart.draw(event.target.checked);
    pointAll(pinned);
  });
  $('find-chart').addEventListener('input', (event) =>
    findCharts(event.target.value.toLowerCase()),
  );
}

function chartKey(event, [first, last]) {
  if (!event.target.classList.contains('chart')) return;
  const along = moved(
    event.key,
    (pinned ?? last) - first,
    last - first + 1,
    'ArrowLeft',
    'ArrowRight',
  );
  const visible = charts.filter((chart) => chart.node.offsetParent !== null);
  const across = moved(event.key, visible.indexOf(charts[focused]), visible.length);
  if (along !== undefined) pin(first + along);
  else if (across !== undefined) focusChart(visible[across]);
  else if (event.key === 'Enter' && pinned !== null) openPinned();
  else if (event.key === 'Escape') pin(null);
  else return;
  event.preventDefault();
}

function focusChart(chart) {
  charts[focused].node.tabIndex = -1;
  chart.node.tabIndex = 0;
  chart.node.focus();
}

function findCharts(text) {
  for (const chart of charts) {
    const names = [chart.title, ...chart.series.map((s) => s.label)].join(' ').toLowerCase();
    chart.node.hidden = !names.includes(text);
  }
  for (const section of $('charts').children) {
    section.hidden = ![...section.querySelectorAll('.chart')].some((node) => !node.hidden);
    if (section.tagName === 'DETAILS' && text) section.open = true;
  }
}

function pointAll(step) {
  for (const chart of charts) chart.point(step);
}

function pin(step) {
  pinned = step;
  pointAll(step);
  const file = step === null ? null : nearestFile(step);
  const alarms = data.alarms.filter((alarm) => alarm.step === step);
  $('pinned').replaceChildren(
    ...(step === null
      ? []
      : [
          el('b', { text: `update ${step}` }),
          ...alarms.map((alarm) => el('span', { class: 'alarm-text', text: ` ▲ ${alarm.rule}` })),
          file
            ? el('button', {
                class: 'link',
                text:
                  file.file.step === step
                    ? 'read its episodes'
                    : `read the episodes of update ${file.file.step}`,
                onclick: openPinned,
              })
            : null,
        ].filter(Boolean)),
  );
}

async function openPinned() {
  const file = nearestFile(pinned);
  if (!file) return;
  await openFile(file.place);
  showTab('episodes', true);
}
