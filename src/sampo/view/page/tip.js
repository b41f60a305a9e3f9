// The one tooltip: beside what is pointed at or focused, gone with Escape.

function showTip(anchor, content) {
  const tip = $('tip');
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = anchor.getClientRects()[0] || anchor.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const below = box.bottom + 6 + height < innerHeight;
  tip.style.left = `${Math.max(Math.min(box.left, innerWidth - width - 8), 8)}px`;
  tip.style.top = `${below ? box.bottom + 6 : Math.max(box.top - height - 6, 8)}px`;
  document.querySelector('[aria-describedby="tip"]')?.removeAttribute('aria-describedby');
  anchor.setAttribute('aria-describedby', 'tip');
}

function hideTip() {
  $('tip').hidden = true;
}

function listenForTips() {
  const home = $('episode');
  const token = (event) => event.target.closest?.('.strip .tok');
  home.addEventListener('pointerover', (event) => token(event) && showToken(token(event)));
  home.addEventListener('pointerout', (event) => token(event) && hideTip());
  home.addEventListener('focusin', (event) => token(event) && showToken(token(event)));
  home.addEventListener('focusout', (event) => token(event) && hideTip());
  home.addEventListener('keydown', tokenKey);
  home.addEventListener(
    'scroll',
    () => document.activeElement?.matches('.strip .tok') || hideTip(),
  );
  document.addEventListener('keydown', (event) => event.key === 'Escape' && hideTip());
}
