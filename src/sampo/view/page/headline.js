// The numbers that a person asks for first, and where the time went.

function curve(tag) {
  const [steps, values] = data.curves[tag] || [[], []];
  const points = steps
    .map((step, i) => ({ step, value: values[i] }))
    .filter(({ value }) => known(value));
  return points.length ? points : null;
}

const tile = (name, value, note, kind = '') =>
  el(
    'div',
    { class: `tile ${kind}` },
    el('span', { class: 'name', text: name }),
    el('strong', { text: value }),
    el('span', { class: 'note', text: note }),
  );

function course(name, tag, extreme) {
  const points = curve(tag);
  if (!points) return null;
  const [first, last] = [points[0], points.at(-1)];
  const best = points.reduce((a, b) =>
    (extreme === 'best' ? b.value > a.value : Math.abs(b.value) > Math.abs(a.value)) ? b : a,
  );
  return tile(
    name,
    num(last.value, 3),
    `from ${num(first.value, 3)} (${first.step}), ${extreme} ${num(best.value, 3)} (${best.step})`,
  );
}

function tiles() {
  const updates =
    curve('train/grad_norm')?.at(-1).step ??
    data.files.filter((f) => f.kind === 'update').at(-1)?.step;
  const alarms = data.alarms.length;
  return [
    course('Held-out success', 'eval/success_rate', 'best'),
    course('Rollout success', 'rollout/success_rate', 'best'),
    course('KL to the reference', 'train/ref_kl', 'largest'),
    course('Entropy', 'train/entropy', 'largest'),
    course('Clipped tokens', 'train/clip_fraction', 'largest'),
    course('Gradient norm', 'train/grad_norm', 'largest'),
    known(updates)
      ? tile('Updates', num(updates), data.seconds ? `in ${duration(data.seconds)}` : 'no curves')
      : null,
    tile(
      'Alarms',
      alarms ? `▲ ${alarms}` : 'none',
      alarms
        ? `first at update ${data.alarms[0].step}: ${data.alarms[0].rule}`
        : 'nothing in alarms.jsonl',
      alarms ? 'warn' : '',
    ),
  ].filter(Boolean);
}

function timeBar() {
  const total = data.phases.reduce((sum, [, seconds]) => sum + seconds, 0);
  if (!total) return null;
  const parts = data.phases.map(([name, seconds], i) => {
    const text = `${words(name)} ${duration(seconds)} (${Math.round((100 * seconds) / total)} %)`;
    return { text, share: seconds / total, colour: `var(${SERIES[i % SERIES.length]})` };
  });
  return el(
    'div',
    {
      class: 'time',
      role: 'img',
      'aria-label': `Where the time went: ${parts.map((p) => p.text).join(', ')}`,
    },
    el(
      'div',
      { class: 'time-bar' },
      ...parts.map((p) => el('span', { style: `flex:${p.share} 0 0;background:${p.colour}` })),
    ),
    ...parts.map((p) =>
      el('span', { class: 'key' }, el('i', { style: `background:${p.colour}` }), p.text),
    ),
  );
}
