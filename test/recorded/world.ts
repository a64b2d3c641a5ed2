// recorded: what one seed stands for, a handful of services in two packages.
import type { Json } from '../../src/model/json/value.ts'
import { CODE } from './actions.ts'
import { MODEL_FILE } from './properties.ts'
import type { Random } from './random.ts'
import { randomService, type Service } from './services.ts'

export interface World {
  readonly services: readonly Service[]
  /** As they lie in a folder of packages. */
  readonly files: { readonly [path: string]: Json }
}

const PACKAGES = ['p', 'q'] as const
const SERVICES = 4

/** Webhooks whose answers don't wait for the clock. */
const HOOKS: { readonly [path: string]: Json } = {
  'p/Hook.flux': {
    webhooks: [{ urlPath: '/hook/{name}', httpMethods: ['GET', 'POST'] }],
    input: [{ name: 'name' }, { name: 'times', type: 'integer', min: 0, defaultValue: 1 }],
    output: [{ name: 'answer', type: 'any' }],
    states: [
      {
        name: 'answer',
        action: {
          lines: [
            { type: 'set', expression: 'times > 2 ? 201 : times', evaluate: true, to: ['$response', 'responseCode'] },
            { type: 'set', expression: '{ Greeted: name }', evaluate: true, to: ['$response', 'headers'] },
            {
              type: 'set',
              expression: "{ body: $request.body, method: $request.method, key: $request.headers['x-api-key'] }",
              evaluate: true,
              to: ['$response', 'content'],
            },
            { from: ['$response'], to: ['answer'] },
          ],
        },
      },
    ],
  },
  'q/HookWaits.flux': {
    webhooks: [{ urlPath: '/waits', httpMethods: ['POST'] }],
    output: [{ name: 'text' }],
    states: [
      {
        name: 'first',
        output: [{ name: 'all', type: 'any' }],
        action: { lines: [{ from: ['$request'], to: ['all'] }] },
        transitions: [{ to: 'waits' }],
      },
      { name: 'waits', waiting: true, transitions: [{ event: 'go', to: 'end' }] },
      {
        name: 'end',
        action: { lines: [{ type: 'set', expression: '$request.body.a', evaluate: true, to: ['text'] }] },
      },
    ],
  },
}

export function randomWorld(random: Random, { scripts }: { readonly scripts: boolean }): World {
  const services: Service[] = []
  for (const name of PACKAGES) {
    for (let index = 0; index < SERVICES; index += 1) {
      const fluxName = random.pick([`F${index}`, `sub.F${index}`])
      const children = random.chance(0.6) ? services.filter((service) => service.package === name) : []
      services.push(randomService(random, { package: name, fluxName, children, scripts }))
    }
  }
  const files: { [path: string]: Json } = { ...HOOKS }
  for (const name of PACKAGES)
    Object.assign(files, { [`${name}/code.mjs`]: CODE, [`${name}/models/Thing.model`]: MODEL_FILE })
  for (const { package: name, fluxName, source } of services)
    files[`${name}/${fluxName.replaceAll('.', '/')}.flux`] = source
  return { services, files }
}
