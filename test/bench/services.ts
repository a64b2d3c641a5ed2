// The services that are measured.

/** Of the webhooks that verify, as ACTORFLUX_SECRET_BENCH. */
export const SECRET = 'a secret of the bench'

const VERIFIED = { httpMethods: ['POST'], verify: { scheme: 'github', secrets: ['$secrets.BENCH'] } }

const copy = (name: string) => ({ from: [name], to: [name] })

/** Counts an event that it waits for, again and again. */
const counting = (event: string) => ({
  input: [{ name: 'nr', type: 'integer' }],
  output: [{ name: 'count', type: 'integer', defaultValue: 0 }],
  states: [
    {
      name: 'counting',
      waiting: true,
      action: { type: 'map', lines: [{ type: 'set', expression: 'count + 1', evaluate: true, to: ['count'] }] },
      transitions: [
        { to: 'counting', event },
        { to: 'done', event: 'finish' },
      ],
    },
    { name: 'done' },
  ],
})

export const SERVICES = {
  'bench/Spread.flux': counting('tick'),
  'bench/Hot.flux': counting('heat'),
  'bench/Common.flux': counting('common'),
  'bench/Rare.flux': counting('rare'),
  /** Where a context stands tells how often it was moved. */
  'bench/Once.flux': {
    states: [
      { name: 'new', waiting: true, transitions: [{ to: 'once', event: 'move' }] },
      { name: 'once', waiting: true, transitions: [{ to: 'again', event: 'move' }] },
      { name: 'again', waiting: true, transitions: [{ to: 'again', event: 'move' }] },
    ],
  },

  /** Waits until a time. */
  'bench/Due.flux': {
    input: [{ name: 'due', type: 'long', required: true }],
    states: [{ name: 'waiting', transitions: [{ to: 'done', wait: 'date:${due}' }] }, { name: 'done' }],
  },

  /** Three states that map, and the end. */
  'bench/Mapping.flux': {
    input: [{ name: 'nr', type: 'integer' }],
    output: [{ name: 'text' }],
    states: [
      ...['first', 'second', 'third'].map((name, index, names) => ({
        name,
        input: [{ name: 'nr', type: 'integer' }],
        action: {
          type: 'map',
          lines: [{ type: 'set', expression: '`${nr} in ${$fluxStateName}`', evaluate: true, to: ['text'] }],
        },
        transitions: [{ to: names[index + 1] ?? 'done', lines: [copy('nr')].slice(0, index === 2 ? 0 : 1) }],
      })),
      { name: 'done' },
    ],
  },

  /** A webhook that answers at once. */
  'bench/Hook.flux': {
    webhooks: [{ urlPath: '/hook/{nr}', httpMethods: ['GET'] }],
    input: [{ name: 'nr', type: 'integer' }],
    output: [{ name: 'text' }],
    states: [
      {
        name: 'only',
        action: { type: 'map', lines: [{ type: 'set', expression: '`number ${nr}`', evaluate: true, to: ['text'] }] },
      },
    ],
  },

  /** A webhook that GitHub's deliveries reach, each once, and that is answered at once. */
  'bench/Pushed.flux': {
    webhooks: [
      {
        ...VERIFIED,
        urlPath: '/push',
        dedupe: { key: "$request.headers['x-github-delivery']" },
        when: "$request.headers['x-github-event'] == 'push'",
        answer: 'accepted',
      },
    ],
    output: [{ name: 'commit' }],
    states: [
      { name: 'only', action: { type: 'map', lines: [{ from: ['$request', 'body', 'after'], to: ['commit'] }] } },
    ],
  },

  /** Nobody knows its secret. A context would stay, and be seen. */
  'bench/Forged.flux': {
    webhooks: [{ ...VERIFIED, urlPath: '/forged' }],
    states: [{ name: 'waiting', waiting: true, transitions: [{ to: 'done', event: 'never' }] }, { name: 'done' }],
  },

  /** A webhook that calls a function. */
  'bench/Double.flux': {
    webhooks: [{ urlPath: '/double/{nr}', httpMethods: ['GET'] }],
    input: [{ name: 'nr', type: 'integer' }],
    output: [{ name: 'double', type: 'integer' }],
    states: [
      {
        name: 'only',
        action: {
          type: 'invokeCode',
          className: 'Functions',
          methodName: 'double',
          inputs: [copy('nr')],
          outputs: [copy('double')],
        },
      },
    ],
  },

  /** One function, and the end. */
  'bench/Calling.flux': {
    input: [{ name: 'nr', type: 'integer' }],
    output: [{ name: 'double', type: 'integer' }],
    states: [
      {
        name: 'call',
        transitions: [{ to: 'done' }],
        action: {
          type: 'invokeCode',
          className: 'Functions',
          methodName: 'double',
          inputs: [copy('nr')],
          outputs: [copy('double')],
        },
      },
      { name: 'done' },
    ],
  },
  'bench/Functions.ts': 'export const double = ({ nr }: { nr: number }) => ({ double: nr * 2 })\n',
} as const
