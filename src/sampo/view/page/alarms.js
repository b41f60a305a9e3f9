// Alarms: on the charts, and as a list that leads to the episodes behind them.

// A mark per update with alarms; faint on charts of other signals than those that alarmed.
function alarmMarks(x, height, tags = null) {
  const own = new Map();
  for (const { step, signal } of data.alarms)
    own.set(step, own.get(step) || !tags || !signal || tags.includes(signal));
  return [...own].map(([step, isOwn]) =>
    svg(
      'g',
      {
        class: isOwn ? 'alarm' : 'alarm elsewhere',
        transform: `translate(${x(step).toFixed(1)} 0)`,
      },
      svg('line', { y1: 8, y2: height }),
      svg('path', { d: 'M-4 8L4 8L0 1Z' }),
    ),
  );
}

const amount = (value) => (typeof value === 'number' ? num(value) : String(value ?? '–'));

function alarmLine(alarm) {
  const file = nearestFile(alarm.step);
  const read = () => {
    pin(alarm.step);
    openPinned();
  };
  const saved = String(alarm.episodes ?? '')
    .split('/')
    .slice(-2)
    .join('/');
  return el(
    'tr',
    {},
    el(
      'td',
      {},
      el('button', { class: 'link', text: `update ${alarm.step}`, onclick: () => pin(alarm.step) }),
    ),
    el(
      'td',
      {},
      alarm.rule ?? '–',
      alarm.message ? el('div', { class: 'note', text: alarm.message }) : null,
    ),
    el('td', { text: amount(alarm.value) }),
    el('td', { text: amount(alarm.threshold) }),
    el('td', { text: alarm.stage ?? '' }),
    el('td', { text: alarm.action ?? '' }),
    el(
      'td',
      {},
      file
        ? el('button', { class: 'link', text: `read update ${file.file.step}`, onclick: read })
        : null,
      saved ? el('span', { class: 'note', text: ` ${saved}` }) : null,
    ),
  );
}

function alarmList() {
  const { alarms } = data;
  if (!alarms.length) return [];
  const names = ['at', 'rule', 'value', 'threshold', 'stage', 'action', 'episodes'];
  const head = names.map((name) => el('th', { scope: 'col', text: name }));
  return [
    el(
      'details',
      { class: 'alarms', open: alarms.length <= 4 },
      el('summary', {}, el('h2', { text: `▲ ${many(alarms.length, 'alarm')}` })),
      el(
        'table',
        {},
        el('thead', {}, el('tr', {}, ...head)),
        el('tbody', {}, ...alarms.map(alarmLine)),
      ),
    ),
  ];
}
