// Colours of quantities: blue for more, orange for less, safe for the colour-blind, and never the
// only sign: numbers stand beside them, and clipping has a shape of its own.

const SERIES = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7'];
const DASHES = ['', '', '', '', '5 2', '5 2', '5 2'];

const tint = (variable, share) =>
  `color-mix(in srgb, var(${variable}) ${Math.round(100 * Math.min(Math.max(share, 0), 1))}%, transparent)`;

// Share of full colour: small values must be seen, large ones must leave the text readable.
const strength = (value, scale) => 0.58 * Math.sqrt(Math.min(Math.abs(value) / scale, 1));

const diverging = (value, scale) =>
  !known(value) || value === 0
    ? 'transparent'
    : tint(value > 0 ? '--more' : '--less', strength(value, scale));
const growing = (value, scale) =>
  known(value) ? tint('--amount', strength(value, scale)) : 'transparent';

// Quantities that tokens can be coloured by: value of token i of a turn, its colour, its legend.
const QUANTITIES = {
  advantage: {
    label: 'advantage',
    value: (turn, i) => turn.update?.advantages[i] ?? turn.advantage,
    colour: (value, scale) => diverging(value, scale.advantage),
    ends: (scale) => [-scale.advantage, scale.advantage],
    names: ['worse than the group', 'better'],
  },
  ratio: {
    label: 'ratio',
    value: (turn, i) => turn.update?.log_weight[i],
    colour: (value, scale) => diverging(value, scale.ratio),
    ends: (scale) => [Math.exp(-scale.ratio), Math.exp(scale.ratio)],
    names: ['became less likely', 'more likely'],
  },
  logprob: {
    label: 'log-prob',
    value: (turn, i) => turn.logprobs?.[i],
    colour: (value, scale) => growing(value, scale.logprob),
    ends: (scale) => [0, -scale.logprob],
    names: ['certain', 'surprising'],
  },
  entropy: {
    label: 'entropy',
    value: (turn, i) => turn.update?.entropy?.[i],
    colour: (value, scale) => growing(value, scale.entropy),
    ends: (scale) => [0, scale.entropy],
    names: ['certain', 'undecided'],
  },
  ref_kl: {
    label: 'KL to the reference',
    value: (turn, i) => turn.update?.ref_kl?.[i],
    colour: (value, scale) => growing(value, scale.ref_kl),
    ends: (scale) => [0, scale.ref_kl],
    names: ['as the reference', 'far from it'],
  },
};

const CLIPPED = 1;
const CLIPPED_LOWER = 2;
const REJECTED = 4;
const clipClass = (flags) =>
  [flags & CLIPPED && 'clipped', flags & CLIPPED_LOWER && 'dual', flags & REJECTED && 'rejected']
    .filter(Boolean)
    .join(' ');
