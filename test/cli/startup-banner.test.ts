import { describe, expect, test } from 'vitest'
import { startupBanner } from '../../src/cli/serve.ts'
import type { JsonObject } from '../../src/model/json/value.ts'

const webhook = {
  pointer: '',
  name: null,
  urlPath: '/orders/{id}',
  httpMethods: ['GET', 'PUT'],
  timeout: null,
  verify: null,
  dedupe: null,
  when: null,
  send: null,
  answer: 'workflow' as const,
}
const service = (name: string, input: JsonObject[] = [], triggers: string[] = []) => ({
  package: 'shop',
  fluxName: name,
  triggers: triggers.map((event) => ({ event, key: null, unlessMoved: false })),
  webhooks: name === 'A' ? [webhook] : [],
  source: { input },
})
const secured = (name: string, input: JsonObject[] = []) => ({ ...service(name), source: { secured: true, input } })
const say = (...services: (ReturnType<typeof service> | ReturnType<typeof secured>)[]) =>
  startupBanner({ url: 'http://127.0.0.1:8080', storage: '/data' }, services, false).join('\n')

describe('the startup banner', () => {
  test('tells packages, triggers, webhooks, data and address', () => {
    const text = say(service('A', [], ['paid', 'sent']), service('B', [], ['paid']))
    expect(text).toMatch(/^packages\s+shop \(2 services\)$/m)
    expect(text).toMatch(/^triggers\s+paid, sent$/m)
    expect(text).toMatch(/^webhooks\s+GET\/PUT \/api\/orders\/\{id\}$/m)
    expect(text).toMatch(/^data\s+\/data$/m)
    expect(text).toMatch(new RegExp(`^pid\\s+${process.pid}$`, 'm'))
    expect(text).toMatch(/^listening\s+http:\/\/127.0.0.1:8080$/m)
    expect(text).toMatch(/^inspector\s+http:\/\/127.0.0.1:8080\/inspector .*http:\/\/127.0.0.1:8080\/docs /m)
  })

  test('offers the service that needs the least', () => {
    expect(
      say(
        service('A', [{ name: 'n', required: true }]),
        service('B', [{ name: 'n' }, { name: 'm', required: true, defaultValue: 1 }]),
      ),
    ).toContain(
      `curl -X POST http://127.0.0.1:8080/flux-api/shop/execute -H 'content-type: application/json' -d '{"fluxName":"B"}'`,
    )
  })

  test('offers one that needs no token, or sends one along', () => {
    const text = say(secured('S'), service('A', [{ name: 'n', required: true }]))
    expect(text).toContain('"fluxName":"A"')
    expect(text).not.toContain('Authorization')
    const withToken =
      "/flux-api/shop/execute -H 'Authorization: Bearer <token>' -H 'content-type: application/json' -d '{\"fluxName\":"
    expect(say(secured('S'), secured('T', [{ name: 'n', required: true }]))).toContain(`${withToken}"S"`)
    expect(startupBanner({ url: 'http://a', storage: 'd' }, [service('A')], true).join('\n')).toContain(
      `${withToken}"A"`,
    )
  })

  test('fills in what is required, by type', () => {
    const text = say(
      service('A', [
        { name: 'id', type: 'long', required: true },
        { name: "it's", required: true, choices: ['x', 'y'] },
        { name: 'all', type: 'boolean', array: true, required: true },
      ]),
    )
    expect(text).toContain(String.raw`-d '{"fluxName":"A","input":{"id":1,"it'\''s":"x","all":[true]}}'`)
  })

  test('offers an address that can be reached', () => {
    expect(startupBanner({ url: 'http://0.0.0.0:80', storage: 'd' }, [service('A')], false).join('\n')).toContain(
      'curl -X POST http://127.0.0.1:80/',
    )
    expect(startupBanner({ url: 'http://[::]:80', storage: 'd' }, [], false).join('\n')).toContain(
      'http://127.0.0.1:80/docs',
    )
  })

  test('says what there is when there is nothing', () => {
    expect(say()).toMatch(/^packages\s+none$/m)
    expect(say()).not.toContain('curl')
  })
})
