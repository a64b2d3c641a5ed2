// pinned: services that run others, and services that webhooks start.
import type { JsonObject } from '../../../src/model/json/value.ts'
import { code, end, set } from './parts.ts'

export const RELATIVES: { readonly [name: string]: JsonObject } = {
  Parent: {
    input: [{ name: 'child', defaultValue: 'waits' }],
    output: [{ name: 'text' }],
    states: [
      {
        name: 'runs',
        action: {
          type: 'invokeFlux',
          name: 'Child',
          timeout: 7200,
          inputs: [{ from: ['child'], to: ['mode'] }],
          outputs: [{ from: ['text'], to: ['text'] }],
        },
        transitions: [{ to: 'end' }, { event: '$exception', to: 'end' }],
      },
      end,
    ],
  },
  Child: {
    secured: true,
    input: [{ name: 'mode' }],
    output: [{ name: 'text' }],
    states: [
      {
        name: 'waits',
        waiting: true,
        action: { lines: [set('text', '`child ${mode}`')] },
        transitions: [{ event: 'stop', to: 'end' }],
      },
      end,
    ],
  },
  Hook: {
    webhooks: [
      { urlPath: '/pinned/stands/{name}', httpMethods: ['POST'], name: 'stands', enabled: true, timeout: 5000 },
    ],
    input: [{ name: 'name' }],
    output: [{ name: 'result', type: 'any' }],
    states: [
      {
        name: 'stands',
        action: code('stand', { inputs: [{ from: ['$request', 'headers'], to: ['headers'] }], timeout: 3000 }),
        transitions: [{ to: 'end' }, { event: '$exception', to: 'end' }],
      },
      end,
    ],
  },
  HookWaits: {
    webhooks: [{ urlPath: '/pinned/waits', httpMethods: ['POST'] }],
    output: [{ name: 'text' }],
    states: [
      {
        name: 'runs',
        output: [{ name: 'all', type: 'any' }],
        action: {
          type: 'invokeFlux',
          name: 'HookChild',
          inputs: [{ from: ['$request'], to: ['request'] }],
          outputs: [{ from: ['$request'], to: ['all'] }],
        },
        transitions: [{ to: 'waits' }],
      },
      { name: 'waits', waiting: true, transitions: [{ event: 'stop', to: 'end' }] },
      end,
    ],
  },
  HookChild: {
    input: [{ name: 'request', type: 'any' }],
    states: [{ name: 'waits', waiting: true, transitions: [{ event: 'stop', to: 'end' }] }, end],
  },
  HookAnswers: {
    webhooks: [{ urlPath: '/pinned/answers', httpMethods: ['POST', 'GET'] }],
    output: [{ name: 'answer', type: 'any' }],
    states: [
      {
        name: 'answers',
        action: {
          lines: [
            set('$response', "{ responseCode: 201, headers: { 'X-Own': '1' } }"),
            { type: 'set', expression: 'done', to: ['$response', 'content'] },
            { from: ['$response'], to: ['answer'] },
          ],
        },
        transitions: [{ to: 'waits' }],
      },
      { name: 'waits', waiting: true, transitions: [{ event: 'stop', to: 'end' }] },
      end,
    ],
  },
}
