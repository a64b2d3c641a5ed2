// Services that tests of many kinds run.

const OUTPUT = [{ name: 'n', type: 'integer', defaultValue: 0 }]
const COUNT = { type: 'map', lines: [{ type: 'set', expression: 'n + 1', evaluate: true, to: ['n'] }] }
const TICK = { to: 'w', event: 'tick' }

/** Counts the events `tick`. */
export const COUNTER = { output: OUTPUT, states: [{ name: 'w', waiting: true, action: COUNT, transitions: [TICK] }] }

/** Counts the events `tick` until `finish`. */
export const FINISHING_COUNTER = {
  output: OUTPUT,
  states: [
    { name: 'w', waiting: true, action: COUNT, transitions: [TICK, { to: 'end', event: 'finish' }] },
    { name: 'end' },
  ],
}

/** Its work for an event grows with the square of the elements of its input `list`: of 210, about 190,000 steps. */
export const HEAVY_COUNTER = {
  input: [{ name: 'list', type: 'any' }],
  output: OUTPUT,
  states: [
    {
      name: 'w',
      waiting: true,
      output: [{ name: 'sum', type: 'integer' }],
      action: {
        type: 'map',
        lines: [
          ...COUNT.lines,
          {
            type: 'set',
            expression: 'list.map(x => list.map(y => x + y).length).length',
            evaluate: true,
            to: ['sum'],
          },
        ],
      },
      transitions: [TICK],
    },
  ],
}

/** Waits, takes any number of events `ping`, and ends with `finish`. */
export const PINGED = [
  {
    name: 'open',
    waiting: true,
    transitions: [
      { to: 'open', event: 'ping' },
      { to: 'done', event: 'finish' },
    ],
  },
  { name: 'done' },
]

/** Where a context stands tells how often it was moved, from `w0` to `w3`. */
export const STEPPED = {
  states: [0, 1, 2, 3].map((n) => ({
    name: `w${n}`,
    waiting: true,
    transitions: [{ to: `w${Math.min(n + 1, 3)}`, event: 'tick' }],
  })),
}
