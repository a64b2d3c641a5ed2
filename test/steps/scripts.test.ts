import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/json/value.ts'
import { errorOf } from '../../src/engine/interpreter/exception.ts'
import { run, runner, thrown } from './run-script.ts'

describe('a script', () => {
  test('sees each name as a variable, and all of them in an object', async () => {
    const names = { amount: 2, $request: { body: 'b' }, $fluxEvent: 'e', 'X-Client-Ref': 'ref' }
    expect(
      await run(
        'return [amount + 1, $request.body, $fluxEvent, names["X-Client-Ref"], this.amount, typeof other]',
        names,
      ),
    ).toEqual([3, 'b', 'e', 'ref', 2, 'undefined'])
  })

  test('sees names that hide what the language has, and returns data all the same', async () => {
    const names = { JSON: 1, Map: 2, names: 4, Promise: 5, Object: 6, Error: 7, Reflect: 8, Array: 9, undefined: 10 }
    expect(await run('return [JSON, Map, names, Promise, Object, Error, Reflect, Array, undefined]', names)).toEqual([
      1,
      2,
      4,
      5,
      6,
      7,
      8,
      9,
      null,
    ])
  })

  test('is served in full whatever its names hide', async () => {
    const hidden: JsonObject = Object.fromEntries(
      [
        'JSON',
        'Array',
        'Object',
        'Proxy',
        'Reflect',
        'String',
        'Error',
        'Uint8Array',
        'eval',
        'undefined',
        'globalThis',
        'digits',
        'kit',
      ].map((name) => [name, 0]),
    )
    const names = { ...hidden, $request: { headers: [{ name: 'A', value: 1 }] } }
    expect(await run('return [$request.headers.a, $request.headers.map(({ name }) => name), Array]', names)).toEqual([
      1,
      ['A'],
      0,
    ])
    expect(await run('return new DataView(new ArrayBuffer(2))', names)).toBe('AAA=')
    expect(await run('throw { name: "Mine", message: "m", code: 1 }', names).catch(errorOf)).toMatchObject({
      type: 'Mine',
      realException: { code: 1 },
    })
  })

  test('holds __proto__ for data, coming and going', async () => {
    const names: JsonObject = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')
    const result = await run(
      'return [Object.keys(names), names.__proto__, { ["__proto__"]: names.constructor }]',
      names,
    )
    expect(JSON.stringify(result)).toBe('[["__proto__","constructor"],{"a":1},{"__proto__":2}]')
  })

  test.each([
    ['return', null],
    ['', null],
    ['return 1 // comment', 1],
    ['const amount = 1\nreturn amount', 1],
    ['return await Promise.resolve(5)', 5],
    ['return (async () => { await null; return [await 6] })()', [6]],
    ['return [1n, 2n ** 53n, 2n ** 70n]', [1, '9007199254740992', '1180591620717411303424']],
    ['return [NaN, -Infinity, undefined, Symbol(), () => 1]', [null, null, null, null, null]],
    ['return { a: undefined, b() {}, c: Symbol(), d: null }', { d: null }],
    ['return [new Date(5), new Map([["a", 1]]), new Set([1]), new Uint8Array([1, 2])]', [5, { a: 1 }, [1], 'AQI=']],
    [
      'return { a: new Uint8Array([1, 2, 255]), b: [new Uint8Array(1).buffer, new DataView(new ArrayBuffer(3), 1)], c: new Uint8Array(0) }',
      { a: 'AQL/', b: ['AA==', 'AAA='], c: '' },
    ],
    ['return [new Uint16Array([300]), new Uint8Array([1, 2, 3, 4]).subarray(1, 3)]', [[300], 'AgM=']],
    ['return { toJSON: () => ({ z: 1 }) }', { z: 1 }],
    ['return { toJSON() {} }', null],
    ['return () => 1', null],
    ['return Symbol()', null],
    ['return { name: "a", message: "b" }', { name: 'a', message: 'b' }],
    ['return { get a() { return 1 } }', { a: 1 }],
    ['return ["\\ud800", "\\0", "\\u2028", "ü😀"]', ['\ud800', '\0', '\u2028', 'ü😀']],
    ['return [typeof Math.random(), Date.now() > 1e12]', ['number', true]],
  ])('%s', async (script, result) => {
    expect(await run(script)).toEqual(result)
  })

  test('sees headers and cookies by name, as expressions do, and as the lists that they are', async () => {
    const headers = [
      { name: 'X-Client-Ref', value: 'a' },
      { name: 'x-client-ref', value: 'b' },
      { name: 'find', value: 'c' },
      { name: 'bare' },
    ]
    const $request = { headers, cookies: [{ name: 'sid', value: 1 }] }
    expect(
      await run(
        'const { headers, cookies } = $request; return [headers["x-client-ref"], headers["X-CLIENT-REF"], headers.bare, headers.nothing, cookies.sid, cookies.SID, names.$request.headers["x-client-ref"]]',
        { $request },
      ),
    ).toEqual(['a', 'a', null, null, 1, null, 'a'])
    expect(
      await run(
        'const { headers } = $request; return [$request, headers, [...headers], JSON.parse(JSON.stringify(headers)), headers.length, headers.find(({ value }) => value === "b").name, headers.at(-1), Array.isArray(headers), headers instanceof Array, Object.keys(headers), headers.concat([1]).length]',
        { $request },
      ),
    ).toEqual([
      $request,
      headers,
      headers,
      headers,
      4,
      'x-client-ref',
      { name: 'bare' },
      true,
      true,
      ['0', '1', '2', '3'],
      5,
    ])
    expect(await run('return [$request, typeof [].nothing]', { $request: null })).toEqual([null, 'undefined'])
  })

  test('gets lone surrogates and long data as they are', async () => {
    const long = 'ü'.repeat(100_000)
    expect(await run('return [a, b.length]', { a: '\udc00\ud800', b: long })).toEqual(['\udc00\ud800', 100_000])
  })

  test.each([
    ['throw new TypeError("no")', 'TypeError: no'],
    ['class Mine extends Error { name = "Mine" }; throw new Mine("x")', 'Mine: x'],
    ['await null; throw new RangeError("later")', 'RangeError: later'],
    ['return { get a() { throw new RangeError("read") } }', 'RangeError: read'],
    ['throw "text"', 'Error: text'],
    ['throw { code: 5 }', 'Error: {"code":5}'],
    ['throw { name: "Custom", message: "mine" }', 'Custom: mine'],
    ['throw undefined', 'Error: undefined'],
    ['throw Symbol("s")', 'Error: Symbol(s)'],
    ['throw { toJSON() { throw 1 } }', "Error: something was thrown that can't be shown"],
    ['const a = []; a.push(a); return a', 'TypeError: circular reference'],
    ['return new Promise(() => {})', 'Error: the script waits for something that never comes'],
    ['return 1 +', expect.stringMatching(/^SyntaxError: line 1: /)],
    ['return 1 +\n* 2', expect.stringMatching(/^SyntaxError: line 2: /)],
  ])('fails: %s', async (script, error) => {
    expect(await thrown(script)).toEqual(error)
  })

  test.each([
    [
      'throw { name: "Custom", message: "mine", code: 7 }',
      {
        type: 'Custom',
        className: 'Custom',
        message: 'mine',
        realException: { name: 'Custom', message: 'mine', code: 7 },
      },
    ],
    ['throw { code: 5 }', { type: 'Error', message: '{"code":5}', realException: { code: 5 } }],
    [
      'class Mine extends Error {}\nthrow Object.assign(new Mine("x"), { code: new Date(5) })',
      { type: 'Error', className: 'Mine', message: 'x', realException: { code: 5, line: 2 } },
    ],
    [
      'const f = async () => {\n  await null\n  null.x\n}\nreturn f()',
      { type: 'TypeError', className: 'TypeError', realException: { line: 3 } },
    ],
    [
      'const e = new Error("x"); e.self = e; throw e',
      { type: 'Error', message: 'x', realException: { name: 'Error', message: 'x', line: 1 } },
    ],
    ['throw { name: "Custom", more: "x".repeat(1e5), message: "m" }', { type: 'Custom', message: 'm' }],
  ])('is told with its class, its fields and its line: %s', async (script, told) => {
    expect(await run(script).catch(errorOf)).toMatchObject(told)
  })

  test('tells no place of the server', async () => {
    const error = await run('return (() => { throw new Error(new Error("x").stack) })()').catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(Error)
    if (error instanceof Error)
      expect(`${error.message} ${error.stack}`).not.toMatch(/actions|node_modules|file:|\.ts|\/\w+\//)
  })
})

describe('the sandbox', () => {
  test.each([
    'process',
    'require',
    'fetch',
    'console',
    'setTimeout',
    'queueMicrotask',
    'Buffer',
    'WebAssembly',
    'Worker',
    'std',
    'os',
    'print',
    'module',
  ])('has no %s', async (name) => {
    expect(await run(`return typeof ${name} + typeof constructor.constructor("return this")().${name}`)).toBe(
      'undefinedundefined',
    )
  })

  test.each([
    ['return constructor.constructor("return process")()', /^ReferenceError: /],
    ['return import("node:fs")', /^ReferenceError: /],
    ['return (await import("data:text/javascript,export default 1")).default', /^ReferenceError: /],
  ])('gives no way out: %s', async (script, error) => {
    expect(await thrown(script)).toMatch(error)
  })

  test.each([
    ['globalThis.leak = 1', 'typeof leak', 'undefined'],
    ['leak = 1', 'typeof leak', 'undefined'],
    ['Object.prototype.leak = 1', '({}).leak ?? null', null],
    ['Array.prototype.map = 1', 'typeof [].map', 'function'],
    [
      'JSON.stringify = () => 1; JSON.parse = null; Promise.prototype.then = null',
      '[JSON.stringify(1), typeof JSON.parse]',
      ['1', 'function'],
    ],
    ['Object.prototype.toJSON = () => 7', '({ a: 1 })', { a: 1 }],
    ['Object.freeze(Object.prototype); delete globalThis.Array', 'Array.of(1)', [1]],
    [
      'const f = () => Promise.resolve().then(() => { globalThis.leak = 1; f() }); f(); throw 1',
      'typeof leak',
      'undefined',
    ],
  ])('keeps nothing for the next script: %s', async (script, question, answer) => {
    await run(script, {}, { timeout: 100 }).catch(() => {})
    expect(await run(`return ${question}`)).toEqual(answer)
  })

  test.each([
    'for (;;);',
    'try { for (;;); } finally { for (;;); }',
    'const f = () => Promise.resolve().then(f); return f()',
    'const f = () => Promise.resolve().then(f); f(); return 1',
    'async function f() { for (;;); } return f().catch(() => { for (;;); })',
    'return { toJSON() { for (;;); } }',
    'return new Proxy({}, { ownKeys() { for (;;); } })',
    'throw { get message() { for (;;); }, __proto__: Error.prototype }',
    'return /(a+)+$/.test("a".repeat(40) + "b")',
    'return Array.prototype.indexOf.call({ length: 2 ** 53 }, 1)', // QuickJS itself can't interrupt that one
    'const a = []; a.length = 2 ** 32 - 1; return a',
  ])('ends what is endless: %s', async (script) => {
    expect(await thrown(script, { timeout: 100 })).toBe('TimeoutError: the script computed for longer than 0.1 s')
    expect(await run('return 1')).toBe(1)
  })

  test('ends when nobody waits for it any more, and makes room', async () => {
    const controller = new AbortController()
    const endless = Array.from({ length: 8 }, (_, nr) =>
      run(`/* ${nr} */ for (;;);`, {}, { signal: controller.signal, timeout: 120_000 }).catch((error: unknown) =>
        String(error),
      ),
    )
    setTimeout(() => controller.abort(new Error('terminated')), 100)
    expect(new Set(await Promise.all(endless))).toEqual(new Set(['Error: terminated']))
    expect(await run('return 1')).toBe(1)
  })

  test('keeps the fields of an error that can be kept', async () => {
    const script = 'const e = new Error("x"); e.big = "y".repeat(20000); e.self = e; e.code = 3; e.f = () => 1; throw e'
    expect(await run(script).catch(errorOf)).toMatchObject({ message: 'x', realException: { code: 3 } })
    expect(await run(script).catch(errorOf)).not.toMatchObject({ realException: { big: expect.anything() } })
  })

  test('does not hold up the process', async () => {
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
    }, 10)
    await run('for (;;);', {}, { timeout: 300 }).catch(() => {})
    clearInterval(timer)
    expect(ticks).toBeGreaterThan(5)
  })

  test.each([
    ['const a = []; for (;;) a.push([1, 2, 3])', /^(InternalError: out of memory|TimeoutError: .*)$/],
    ['let a; for (;;) a = { a }', /^(InternalError: out of memory|TimeoutError: .*)$/],
    ['throw null', /^Error: null$/],
    ['return new Array(1e9).fill(1)', /^InternalError: out of memory$/],
    ['return new Uint8Array(2 ** 30)', /^\w+Error: /],
    ['return "x".repeat(2 ** 28).length', /^\w+Error: /],
    ['let s = "x"; for (;;) s += s', /^\w+Error: /],
    ['return 7n ** 10000000n', /^\w+Error: /],
    ['const f = () => f() + 1; return f()', /^\w+Error: stack overflow$/],
    ['return JSON.parse("[".repeat(100000))', /^\w+Error: /],
    ['let a = []; for (let i = 0; i < 10000; i++) a = [a]; return a', /^\w+Error: /],
    ['return eval("[".repeat(100000))', /^\w+Error: /],
    ['const a = []; for (;;) a.push(new Array(10000).fill(1))', /^InternalError: out of memory$/],
    ['const a = []; for (;;) a.push(new Uint8Array(1e5))', /^InternalError: out of memory$/],
    ['return "x".repeat(5e6)', /^ResultTooLarge: the result has more than 1048576 bytes as JSON$/],
    ['return "é".repeat(6e5)', /^ResultTooLarge: the result has more than 1048576 bytes as JSON$/],
    ['throw new Error("x".repeat(1e6))', /^Error: x{10000}$/],
  ])('has bounds, and goes on: %s', async (script, error) => {
    expect(await thrown(script)).toMatch(error)
    expect(await run('return 1')).toBe(1)
  })

  test('may return as much as the bound, and not a byte more', async () => {
    expect(await run('return "x".repeat(2 ** 20 - 2)')).toHaveLength(2 ** 20 - 2)
    expect(await thrown('return "x".repeat(2 ** 20 - 1)')).toMatch(/^ResultTooLarge: /)
  })

  test.each([
    'const a = []; for (;;) a.push([1, 2, 3])',
    'let a; for (;;) a = { a }',
    'const m = new Map(); for (let n = 0; ; n += 1) m.set(n, {})',
    'const p = []; for (;;) p.push(Promise.resolve(1).then(() => 2))',
  ])(
    'is told that its memory is used up, each time: %s',
    async (script) => {
      for (let round = 0; round < 2; round += 1)
        expect(await thrown(script, { timeout: 25_000 })).toBe('InternalError: out of memory')
    },
    90_000,
  )

  test('has 32 MiB to itself, whatever those before it took', async () => {
    const fills = 'const a = []; for (let n = 0; n < 28; n += 1) a.push(new Uint8Array(2 ** 20)); return a.length'
    for (let round = 0; round < 3; round += 1) {
      expect(await thrown('const a = []; for (;;) a.push(new Array(10000).fill(1))', { timeout: 5000 })).toMatch(
        /out of memory/,
      )
      expect(await run(fills, {}, { timeout: 5000 })).toBe(28)
    }
  })

  test('takes many at once, each with its own names', async () => {
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        run(n % 10 === 0 ? 'throw new Error(n)' : 'globalThis.x ??= n; return x', { n }).catch(() => 'failed'),
      ),
    )
    expect(results).toEqual(Array.from({ length: 100 }, (_, n) => (n % 10 === 0 ? 'failed' : n)))
  })

  test('is left at once by whoever is called off', async () => {
    const controller = new AbortController()
    const running = run('for (;;);', {}, { signal: controller.signal, timeout: 300 })
    const waiting = Array.from({ length: 8 }, () => run('return 1', {}, { signal: controller.signal }))
    const reason = new Error('called off')
    controller.abort(reason)
    for (const call of [running, ...waiting, run('return 1', {}, { signal: controller.signal })])
      await expect(call).rejects.toBe(reason)
    expect(await run('return 2')).toBe(2)
  })
})

describe('checking a script', () => {
  test.each(['return 1', '', 'await null', 'for (;;);', 'return unknown.thing', 'throw 1 // x'])(
    'finds nothing in %s',
    async (script) => {
      expect(await runner.scriptFault(script)).toBeNull()
    },
  )

  test.each([
    'if (true) { return 1 } }); (async function () { return 2',
    '} + {',
    '}, async function () {',
    '}); Function.prototype.toString = () => ""; (async function () {',
  ])('lets none close its own function: %s', async (script) => {
    expect(await runner.scriptFault(script)).toBe('it has a "}" that closes nothing of its own')
  })

  test.each(['return "}"', 'return "a\0b" // }', '"use strict"', '/* } */', 'return /(?i:})/.test("}")', '\n--> }'])(
    'takes a bracket that closes nothing where it is text: %j',
    async (script) => {
      expect(await runner.scriptFault(script)).toBeNull()
    },
  )

  test.each([
    ['return 1 +', /^line 1: ./],
    ['return (1\n// ü\n\n', /^line 2: ./],
    ['const a = 1\nconst a = 2', /^line 2: ./],
    ['let = = 1', /^line 1: ./],
  ])("says why %j can't be parsed", async (script, fault) => {
    expect(await runner.scriptFault(script)).toMatch(fault)
  })
})
