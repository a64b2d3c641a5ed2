// pinned: services that together use all of the language. Their contexts can be left standing in every phase.
import type { Json, JsonObject } from '../../../src/model/json/value.ts'
import { code, end, set } from './parts.ts'
import { RELATIVES } from './services-relatives.ts'

const EVERY_TYPE: (JsonObject & { name: string })[] = [
  { name: 'text', type: 'string', minLength: 1, maxLength: 20, defaultValue: 'x', comments: 'a text' },
  { name: 'letter', type: 'character', defaultValue: 'c' },
  { name: 'yes', type: 'boolean', defaultValue: 'true' },
  { name: 'byte', type: 'byte', min: -5, max: 5 },
  { name: 'short', type: 'short' },
  { name: 'integer', type: 'integer', defaultValue: '7', required: true },
  { name: 'long', type: 'long' },
  { name: 'float', type: 'float' },
  { name: 'double', type: 'double', array: true },
  { name: 'bigInteger', type: 'bigInteger' },
  { name: 'bigDecimal', type: 'bigDecimal' },
  { name: 'date', type: 'date', defaultValue: 'now' },
  { name: 'bytes', type: 'byte[]' },
  { name: 'object', type: 'object' },
  {
    name: 'model',
    type: 'model',
    allowExtraProperties: true,
    gloopProperties: [
      { name: 'a', required: true, allowNull: false },
      { name: 'b', type: 'integer', array: true },
    ],
  },
  { name: 'thing', type: 'model', reference: 'models.Thing', array: true },
  { name: 'any', type: 'any', allowNull: true },
  { name: 'choice', choices: ['one', 'two'], allowOtherValues: false },
]

const SERVICES: { readonly [name: string]: JsonObject } = {
  Types: {
    comment: 'every type of property',
    $schema: 'https://example.com/flux.json',
    allowExtraProperties: true,
    startState: 'waits',
    input: EVERY_TYPE,
    output: EVERY_TYPE.map((property) => ({ ...property, required: false })),
    states: [
      { name: 'unused', transitions: [{ to: 'waits' }] },
      {
        name: 'waits',
        displayName: 'Waits',
        x: 1,
        y: 2,
        comment: 'for anything',
        waiting: true,
        input: [{ name: 'told', type: 'any' }],
        output: [{ name: 'all', type: 'any' }],
        action: {
          type: 'map',
          lines: [...EVERY_TYPE.map(({ name }) => ({ from: [name], to: [name] })), set('all', 'told ?? $fluxEvent')],
        },
        transitions: [{ event: '$else', to: 'end', comments: 'any', lines: [{ from: ['all'], to: ['heard'] }] }],
      },
      { name: 'end', input: [{ name: 'heard', type: 'any' }] },
    ],
  },
  Events: {
    tags: ['fixed', "event-${name ?? 'none'}"],
    triggers: ['begin'],
    input: [{ name: 'name' }],
    output: [
      { name: 'rounds', type: 'integer', defaultValue: 0 },
      { name: 'seen', type: 'any', array: true },
    ],
    states: [
      {
        name: 'a.b #c',
        waiting: true,
        input: [{ name: 'note', type: 'any' }],
        action: { lines: [set('rounds', 'rounds + 1'), set('seen', '[...(seen ?? []), $fluxEvent].slice(-3)')] },
        transitions: [
          { event: 'again', to: 'a.b #c', lines: [{ from: ['note'], to: ['note'] }] },
          { event: 'later', to: 'end', wait: 'duration:900' },
          { event: 'stop', to: 'end' },
          { wait: 'date:${now() + 86400000}', to: 'end' },
        ],
      },
      end,
    ],
  },
  Keyed: {
    key: 'order-${name}',
    keyReuse: 'never',
    early: '10m',
    triggers: [{ event: 'ordered', key: 'order-${name}', unlessMoved: true }],
    onEnd: { url: 'https://example.com/ends/${name}', secret: '$secrets.PINNED' },
    input: [{ name: 'name', required: true }],
    states: [
      {
        name: 'waits',
        waiting: true,
        transitions: [
          { event: 'go', to: 'pays' },
          { event: 'on', to: 'end', internal: true },
        ],
      },
      { name: 'pays', waiting: true, transitions: [{ event: 'paid', to: 'end', early: '1h' }] },
      end,
    ],
  },
  Stands: {
    output: [{ name: 'result', type: 'any' }],
    states: [
      {
        name: 'stands',
        action: code('stand', { timeout: 3000, retry: { maxAttempts: 2, delay: 1 } }),
        transitions: [{ to: 'end' }, { event: '$exception', to: 'end' }],
      },
      end,
    ],
  },
  Echoes: {
    input: [{ name: 'what', type: 'any' }],
    output: [{ name: 'result', type: 'any' }],
    states: [
      {
        name: 'echo',
        action: code('echo', {
          inputs: [{ from: ['what'], to: ['what'] }],
          outputs: [{ from: ['$result'], to: ['result'] }],
        }),
        transitions: [{ to: 'end' }],
      },
      end,
    ],
  },
  Scripted: {
    input: [{ name: 'list', type: 'integer', array: true }],
    output: [{ name: 'sum', type: 'integer' }],
    states: [
      {
        name: 'adds',
        action: {
          type: 'script',
          script: 'return (list ?? []).reduce((a, b) => a + b, 0)',
          timeout: 20,
          retry: { maxAttempts: 2 },
          outputs: [{ from: ['$result'], to: ['sum'] }],
        },
        transitions: [{ to: 'end' }],
      },
      end,
    ],
  },
  Retries: {
    output: [{ name: 'why' }],
    states: [
      {
        name: 'tries',
        action: code('fail', { retry: { maxAttempts: 4, delay: 600, factor: 2, maxDelay: 900 }, timeout: 5 }),
        transitions: [
          { to: 'end' },
          { event: '$exception', to: 'gives up', lines: [{ from: ['$fluxException', 'message'], to: ['why'] }] },
        ],
      },
      { name: 'gives up', input: [{ name: 'why' }], action: { lines: [{ from: ['why'], to: ['why'] }] } },
      end,
    ],
  },
  Delays: {
    states: [
      {
        name: 'fails',
        action: {
          type: 'invokeCode',
          className: 'Errors',
          methodName: 'throwException',
          inputs: [set('message', "'held'"), set('type', "'Own'")],
        },
        transitions: [{ to: 'end' }, { event: '$exception', wait: 'duration:900', to: 'next' }],
      },
      {
        name: 'next',
        action: { lines: [{ type: 'set', expression: 'go', to: ['$fluxEvent'] }] },
        transitions: [
          { event: 'go', to: 'end', wait: 'duration:${60 * 60}' },
          { event: '$else', to: 'end' },
        ],
      },
      end,
    ],
  },
  Fails: {
    states: [
      {
        name: 'one',
        action: { type: 'invokeCode', className: 'Logger', methodName: 'info', inputs: [set('message', "'on'")] },
        transitions: [{ to: 'two' }],
      },
      { name: 'two', action: code('fail') },
    ],
  },
  Isolated: {
    states: [
      {
        name: 'alone',
        waiting: true,
        action: code('echo', { isolate: true }),
        transitions: [{ event: 'go', to: 'end' }],
      },
      end,
    ],
  },
  Ends: {
    states: [
      {
        name: 'ends',
        action: { lines: [{ type: 'set', expression: '$fluxTerminate', to: ['$fluxEvent'] }] },
        transitions: [{ event: 'x', to: 'end' }],
      },
      end,
    ],
  },
}

/** Package `k`. */
export const FILES: { readonly [path: string]: Json } = Object.fromEntries(
  Object.entries({ ...SERVICES, ...RELATIVES }).map(([name, source]) => [`k/${name}.flux`, source]),
)
