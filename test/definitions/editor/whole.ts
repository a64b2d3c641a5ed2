// A service and a model with every key that there is.
import type { JsonObject } from '../../../src/model/json/value.ts'

const end = { name: 'end' }
const set = (...to: string[]) => ({ type: 'set', expression: '1', evaluate: true, to })

export const WHOLE: JsonObject = {
  $schema: 'x',
  comment: 'c',
  key: 'k-${text}',
  keyReuse: 'never',
  early: '1h',
  triggers: ['t', { event: 'u', key: 'k', unlessMoved: true, comment: 'c' }],
  onEnd: { url: 'https://example.com/x', secret: '$secrets.KEY' },
  tags: ['a', '${text}'],
  startState: 'wait',
  secured: false,
  allowExtraProperties: true,
  input: [
    { name: 'text', type: 'string', minLength: 1, maxLength: 9, choices: ['a'], allowOtherValues: true, comments: 'c' },
    { name: 'count', type: 'integer', min: 1, max: 2, required: true, allowNull: false, array: true, sensitive: true },
    { name: 'free', type: '', array: '', defaultValue: 'x', reference: null },
    {
      name: 'model',
      type: 'model',
      allowExtraProperties: true,
      gloopProperties: [{ name: 'inner', type: 'model', gloopProperties: [{ name: 'leaf', type: 'date' }] }],
    },
    { name: 'odd', type: 'object', gloopProperties: [{ label: 1, gloopProperties: [] }, 5] },
  ],
  output: [{ name: 'out' }],
  webhooks: [
    {
      urlPath: '/a',
      httpMethods: ['POST'],
      name: 'n',
      enabled: true,
      timeout: 5,
      verify: {
        scheme: 'hmac',
        secrets: ['$secrets.KEY'],
        tolerance: 5,
        header: 'X-A',
        algorithm: 'sha256',
        encoding: 'hex',
        payload: '${body}',
        prefix: 'v=',
        timestampHeader: 'X-T',
      },
      dedupe: { key: '$request.body.id', keep: '7d' },
      when: '$request.body.ok',
      send: { event: "'e'", key: '$request.body.k', input: '$request.body', orStart: { input: '{}', tags: '[]' } },
      answer: null,
    },
    { urlPath: '/b', httpMethods: ['PUT'], verify: { scheme: 'token', secrets: ['$secrets.KEY'], header: 'X-B' } },
    {
      urlPath: '/c',
      httpMethods: ['PUT'],
      verify: { scheme: 'twilio', secrets: ['$secrets.KEY'], url: 'https://a.b' },
    },
    { urlPath: '/d', send: { event: "'e'", tags: "'t'", orStart: false }, dedupe: { key: '$request.body.id' } },
    { urlPath: '/e', answer: 'accepted', verify: { scheme: 'stripe', secrets: ['$secrets.KEY'], tolerance: 9 } },
  ],
  states: [
    {
      name: 'wait',
      displayName: 'W',
      x: 1,
      y: 2,
      comment: 'c',
      waiting: true,
      input: [{ name: 'i' }],
      output: [{ name: 'o' }],
      action: { type: 'map', lines: [set('out'), { from: ['text'], to: ['o'] }], inputs: [{ from: 1 }] },
      transitions: [
        { to: 'code', event: 'e', early: '7d', lines: [{ type: 'map', from: ['text'], to: ['j'] }], comments: 'c' },
        { to: 'end', wait: 'duration:5' },
        { to: 'end', event: '$else', early: null },
        { to: 'end', event: 'i', internal: true },
      ],
    },
    {
      name: 'code',
      waiting: false,
      input: [{ name: 'j' }],
      action: {
        type: 'invokeCode',
        className: 'Logger',
        methodName: 'info',
        parameters: 1,
        inputs: [set('a', 'b')],
        outputs: [{ from: ['$result'], to: ['out'] }],
        retry: { maxAttempts: 3, delay: 1, factor: 2, maxDelay: 9 },
        timeout: 5,
        isolate: false,
      },
      transitions: [{ to: 'flux' }, { to: 'end', event: '$exception' }],
    },
    {
      name: 'flux',
      action: { type: 'invokeFlux', name: 'S', inputs: [set('a')], outputs: [set('out')], timeout: 5 },
      transitions: [{ to: 'script', wait: 'date:2030-01-01' }],
    },
    {
      name: 'script',
      action: { type: 'script', script: 'return 1', outputs: [set('out')], retry: { maxAttempts: 1 }, timeout: 1 },
      transitions: [{ to: 'plain' }],
    },
    { name: 'plain', action: { lines: [{ type: 'set', expression: 'x', to: ['out'] }] }, transitions: [{ to: 'end' }] },
    end,
  ],
}

export const MODEL: JsonObject = {
  $schema: 'x',
  name: 'M',
  type: 'model',
  comments: 'c',
  allowExtraProperties: true,
  required: 'odd',
  gloopProperties: [
    { name: 'a', type: 'long', min: 1 },
    { name: 'b', type: 'model', gloopProperties: [{ name: 'c', required: true, allowNull: true }] },
  ],
}
