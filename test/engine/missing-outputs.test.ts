import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBench, type Bench } from '../support/engine.ts'

const map = (name: string, to = name) => ({ from: [name], to: [to] })
/** A service that calls a function of the module. */
const calling = (methodName: string, outputs: object[], more: object = {}) => ({
  input: [{ name: 'own' }],
  output: [{ name: 'text' }, { name: 'other', type: 'any' }],
  states: [{ name: 'Call', action: { type: 'invokeCode', className: 'greetings', methodName, outputs } }],
  ...more,
})

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    'p/greetings.ts': `
      export const greet = () => ({ txet: 'hello' })
      export const nothing = () => undefined
      export const sometimes = () => ({ text: 'hello' })`,
    'p/Misspelt.flux': calling('greet', [map('text')]),
    'p/Computed.flux': calling('greet', [
      { type: 'set', expression: "text + '!'", evaluate: true, to: ['text'] },
      map('$result', 'other'),
    ]),
    'p/Parts.flux': calling('greet', [
      { from: ['$result', 'text'], to: ['text'] },
      { type: 'set', expression: 'other', evaluate: true, to: ['other'] },
    ]),
    'p/Nothing.flux': calling('nothing', [map('text', 'other'), map('more', 'text')]),
    'p/Optional.flux': calling('sometimes', [map('text'), map('problem', 'other')]),
    'p/Own.flux': calling('greet', [map('own', 'text'), map('$fluxName', 'other')]),
    'p/Extra.flux': calling('greet', [map('given', 'text')], { allowExtraProperties: true }),
  })
})
afterAll(() => bench.close())

const warnings = async (fluxName: string, input: object = {}) => {
  bench.logged.length = 0
  const contextId = await bench.run(fluxName, input)
  await bench.until(contextId, ({ status }) => status === 'COMPLETED')
  return bench.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)
}

test('an output that the lines read and the function did not give is logged once', async () => {
  expect(await warnings('Misspelt')).toEqual(['greetings.greet gave `txet`; `text` is read'])
  expect(await warnings('Misspelt')).toEqual([])
})

test.each([
  ['Parts', {}, ['greetings.greet gave `txet`; `text`, `other` are read']],
  ['Nothing', {}, ['greetings.nothing gave no outputs; `text`, `more` are read']],
  ['Extra', {}, ['greetings.greet gave `txet`; `given` is read']],
  ['Extra', { given: 'x' }, []],
  ['Computed', {}, []],
  ['Optional', {}, []],
  ['Own', {}, []],
])('%s with %j', async (fluxName, input, expected) => {
  expect(await warnings(fluxName, input)).toEqual(expected)
})
