// Start, tabs and theme.

const TABS = ['curves', 'episodes', 'settings'];

function showTab(tab, focus = false) {
  for (const name of TABS) {
    const chosen = name === tab;
    $(`panel-${name}`).hidden = !chosen;
    $(`tab-${name}`).setAttribute('aria-selected', String(chosen));
    $(`tab-${name}`).tabIndex = chosen ? 0 : -1;
  }
  choose({ tab });
  if (tab === 'episodes') {
    if (state.content) redraw(new Set(['content']));
    else if (readable('update').length || readable('validation').length)
      openFile((readable('update').at(-1) || readable('validation').at(-1)).place);
    else redraw(new Set(['content']));
    if (focus) $('slider').focus();
  }
}

function redraw(changed) {
  if (state.tab !== 'episodes' || $('panel-episodes').hidden) return;
  const fresh = changed.has('content') || changed.has('file');
  if (fresh && state.file !== null) timelineKind = data.files[state.file].kind;
  if (fresh) drawTimeline();
  if (fresh) drawFilters();
  if (fresh || changed.has('filters')) drawGroups();
  else if (changed.has('group')) markChosenGroup();
  if (changed.has('filters')) drawFound();
  if (fresh || changed.has('filters') || changed.has('group')) drawMembers();
  else if (changed.has('member') || changed.has('turn')) markChosenTurn();
  hideTip();
  if (fresh || ['group', 'member', 'colour', 'pages'].some((name) => changed.has(name)))
    drawEpisode();
  else if (changed.has('turn')) markTurnBlock();
}

function listenToTabs() {
  const list = document.querySelector('[role=tablist]');
  list.addEventListener('click', (event) => {
    const tab = event.target.closest('[role=tab]');
    if (tab) showTab(tab.id.slice(4));
  });
  list.addEventListener('keydown', (event) => {
    const to = moved(event.key, TABS.indexOf(state.tab), TABS.length, 'ArrowLeft', 'ArrowRight');
    if (to === undefined) return;
    event.preventDefault();
    showTab(TABS[to]);
    $(`tab-${TABS[to]}`).focus();
  });
}

const THEMES = { auto: 'as the system', light: 'light', dark: 'dark' };

function listenToTheme() {
  const set = (theme) => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    $('theme').textContent = `◐ ${theme}`;
    $('theme').setAttribute('aria-label', `Colours: ${THEMES[theme]}`);
  };
  $('theme').addEventListener('click', () => {
    const names = Object.keys(THEMES);
    set(
      names[(names.indexOf(document.documentElement.dataset.theme || 'auto') + 1) % names.length],
    );
  });
}

async function start() {
  if (!('DecompressionStream' in window))
    throw new Error('this browser is too old to unpack the data: it needs one from 2024 or later');
  data = await decode('data');
  const at = remembered();
  drawCurves();
  listenToTabs();
  listenToTheme();
  listenToFilters();
  listenToMembers();
  listenForTips();
  $('groups').addEventListener('keydown', groupKey);
  watch(redraw);
  if (at.file !== null) await openFile(at.file, at);
  showTab(at.tab);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start().catch((error) => {
  $('failure').textContent = `The page could not be drawn: ${error.message}.`;
  $('failure').hidden = false;
  throw error;
});
