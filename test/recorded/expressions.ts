// recorded: random expressions over names that can be seen. Some fail at run time, which is meant.
import type { JsonObject } from '../../src/model/json/value.ts'
import { object, type Random } from './random.ts'
import type { Property } from './properties.ts'

/** Of any value `a` and `b`. */
const GENERAL: readonly ((a: string, b: string) => string)[] = [
  (a) => a,
  (a) => `json(${a})`,
  (a) => `string(${a})`,
  (a) => `number(${a})`,
  (a) => `boolean(${a})`,
  (a) => `${a} ?? 'none'`,
  (a, b) => `[${a}, ${b}].length`,
  (a, b) => `{ a: ${a}, b: [${b}] }`,
  (a) => `${a} == null ? 1 : 2`,
  (a, b) => `${a} === ${b}`,
  (a) => `!${a} || ${a} != 3`,
  (a, b) => `size(json([${a}, ${b}]))`,
  (a, b) => `\`\${${a}}-\${${b}}\``,
  (a) => `[...[${a}], 1]`,
  (a) => `({ ...{ x: 1 }, y: ${a} }).y`,
  (a) => `keys({ k: ${a} })[0]`,
  (a) => `parseJson(json({ v: ${a} })).v`,
  (a) => `values({ v: ${a} })`,
  (a) => `entries({ v: ${a} })`,
  (a) => `[3, 1, 2].map(n => n * 2).filter(n => n > 2).concat([${a}])`,
  (a) => `base64(json(${a}))`,
  (a) => `fromBase64(base64('x' + json(${a}))).length`,
  (a) => `encodeUri(json(${a}))`,
  (a) => `decodeUri(encodeUri('ä/' + json(${a})))`,
  (a) => `${a}?.a?.b`,
  (a) => `${a}.toUpperCase()`,
  (a) => `${a}.length`,
  (a) => `${a} + 1`,
  (a) => `${a} * 2 - 1`,
  (a, b) => `${a} > ${b}`,
  (a) => `min(number(${a}), 4)`,
  (a) => `round(number(${a}) / 3)`,
  (a) => `abs(floor(-2.5)) + ceil(0.2) + max([1, size(json(${a}))])`,
  (a) => `json(${a}).includes('a') && 'yes'`,
  (a) => `json(${a}).split('').reverse().join('').slice(0, 5)`,
  (a) => `json(${a}).replace('a', 'b').padStart(4, '.').trim()`,
  (a) => `[${a}].some(x => x == null)`,
  (a) => `[1, 2].reduce((sum, n) => sum + n, 0) + size(${a})`,
  (a) => `['b', 'a'].sort().indexOf(${a})`,
]

/** Of what everybody sees. */
const SPECIAL: readonly string[] = [
  "$fluxName + ':' + $fluxStateName",
  '$fluxEvent',
  "$fluxEvent ?? 'silence'",
  '$triggerFluxEvent',
  '$fluxContextId + 0',
  '$trackerId.length',
  '$trackerId',
  'uuid().length',
  'random(1)',
  'random() < 1',
  'now()',
  'now() - 5',
  "date('2026-01-01')",
  'date(now())',
  '7 % 4 ** 2',
  '1 / 0',
  '$request?.method',
  '$request == null',
  '(1 + 2).toFixed(2)',
  '-0',
  '0.1 + 0.2',
  '1e21',
  "'ü'.charCodeAt(0)",
]

export function randomExpression(random: Random, names: readonly string[]): string {
  if (names.length === 0 || random.chance(0.25)) return random.pick(SPECIAL)
  return random.pick(GENERAL)(random.pick(names), random.pick(names))
}

/** A line that writes to the property: a copy, a text, or an expression, mostly of the property's type. */
export function randomLine(random: Random, seen: readonly Property[], target: Property): JsonObject {
  const inside = !target.array && (target.type === 'any' || target.type === 'object') && random.chance(0.2)
  const to = inside ? [target.name, random.pick(['a', 'odd name'])] : [target.name]
  const alike = random.chance(0.1)
    ? seen
    : seen.filter(({ type, array }) => array === target.array && (type === target.type || target.type === 'any'))
  if (alike.length > 0 && random.chance(0.5)) return { from: [random.pick(alike).name], to }
  if (!target.array && random.chance(0.25))
    return {
      type: 'set',
      expression: random.chance(0.95)
        ? (TEXTS[target.type] ?? 'x')
        : random.pick(['x', 'go', '5', '', 'true', '2026-01-02', '[1, 2]']),
      to,
    }
  return object({
    type: 'set',
    expression: fitting(
      random,
      seen.map(({ name }) => name),
      target,
    ),
    evaluate: true,
    to,
  })
}

const FITTING: { readonly [type: string]: readonly string[] } = {
  string: ["'x' + now()", '$fluxStateName', '`${$fluxName}!`', '$fluxEvent', '$trackerId', 'json([1, null])'],
  boolean: ['1 < 2', 'false'],
  integer: ['2 + 3', "size('four')"],
  long: ['now()', "'9223372036854775806'"],
  double: ['1 / 4', '2.5'],
  float: ['0.5'],
  date: ['now()', 'now() + 1000'],
  object: ['{ a: { b: 1 } }', '{}'],
  any: ['[1, [2]]', 'null', '{ a: 1 }'],
  model: ["{ id: 'm', size: 2 }"],
  short: ['5'],
  byte: ['-1'],
  character: ["'k'"],
  bigInteger: ["'1' + '0'"],
  bigDecimal: ["'1.50'"],
  'byte[]': ["base64('ü')"],
}

const TEXTS: { readonly [type: string]: string } = {
  string: 'go',
  character: 'c',
  boolean: 'TRUE',
  byte: '-7',
  short: '12',
  integer: '5',
  long: '9007199254740993',
  float: '0.5',
  double: '1e3',
  bigInteger: '00012',
  bigDecimal: '1.10',
  date: '2026-01-02',
  'byte[]': 'AAEC',
  object: '{"a":1}',
  model: '{"id":"t"}',
  any: 'text',
}

function fitting(random: Random, names: readonly string[], { type, array }: Property): string {
  const known = FITTING[type]
  const anything = array ? 0 : type === 'any' ? 0.85 : type === 'string' ? 0.25 : 0.06
  if (known === undefined || random.chance(anything))
    return type === 'string' ? `json(${randomExpression(random, names)})` : randomExpression(random, names)
  return array ? `[${random.pick(known)}]` : random.pick(known)
}
