// steps: the JavaScript code that QuickJS runs in each new context before a script. Rarely used functions are kept as
// text and evaluated on first use, because parsing all of them takes longer than running a script. The code saves the
// globals that it uses, because a property of a service may be named `JSON` or `Map`.

/** Encodes bytes as base64. */
const BASE64 = String.raw`({ Array }) => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  // Two digits at once: that halves the time, and large results have little of it.
  const pairs = Array.from({ length: 4096 }, (_, n) => digits[n >> 6] + digits[n & 63])
  return (bytes) => {
    const { length } = bytes, rest = length % 3
    let text = '', at = 0
    for (; at < length - rest; at += 3) text += pairs[bytes[at] << 4 | bytes[at + 1] >> 4] + pairs[(bytes[at + 1] & 15) << 8 | bytes[at + 2]]
    if (rest === 1) text += pairs[bytes[at] << 4] + '=='
    if (rest === 2) text += pairs[bytes[at] << 4 | bytes[at + 1] >> 4] + digits[(bytes[at + 1] & 15) << 2] + '='
    return text
  }
}`

/**
 * Looks up an element of a list of headers or cookies by name, as expressions do. `methods`: the prototype of arrays.
 */
const FIND = String.raw`({ Object, Reflect }) => {
  const sameButCase = (name, wanted) => name.length === wanted.length && name.toLowerCase() === wanted.toLowerCase()
  return (methods, key, list, anyCase) => {
    if (typeof key !== 'string' || key in methods) return Reflect.get(methods, key, list)
    for (let at = 0; at < list.length; at += 1) {
      const item = list[at]
      if (typeof item?.name === 'string' && Object.hasOwn(item, 'value') && (anyCase ? sameButCase(item.name, key) : item.name === key)) return item.value
    }
  }
}`

/** The JSON text of a thrown value: `{ name, message, className, stack, fields }`. */
const DESCRIBE_THROWN = String.raw`({ Array, Error, Object, String, data, stringify }) => {
  const textOf = (thrown) => typeof thrown === 'string' ? thrown : typeof thrown === 'symbol' ? String(thrown) : stringify(thrown, data) ?? String(thrown)
  // As text. What is long or can't be data is left out: the message matters more.
  function fieldsOf(thrown) {
    let text = ''
    for (const key of Object.keys(thrown)) {
      try {
        const field = stringify({ [key]: thrown[key] }, data).slice(1, -1)
        if (field !== '' && text.length + field.length < 10000) text += (text === '' ? '' : ',') + field
      } catch {}
    }
    return '{' + text + '}'
  }
  return (thrown) => {
    const isObject = typeof thrown === 'object' && thrown !== null, isError = isObject && thrown instanceof Error
    const name = isError ? String(thrown.name) : isObject && typeof thrown.name === 'string' && thrown.name || 'Error'
    const message = isError ? String(thrown.message) : isObject && typeof thrown.message === 'string' ? thrown.message : textOf(thrown)
    const className = isError ? thrown.constructor?.name : undefined
    return stringify({
      __proto__: null, name: name.slice(0, 200), message: message.slice(0, 10000), className: typeof className === 'string' && className ? className.slice(0, 200) : undefined,
      stack: isError ? String(thrown.stack).slice(0, 2000) : undefined, fields: isObject && !Array.isArray(thrown) ? fieldsOf(thrown) : undefined,
    })
  }
}`

/**
 * Tells whether the source of a function is exactly this text (passed as JSON, because a NUL would end it). It is
 * evaluated before a script that is only parsed, because a script that closes its function early may have run code.
 */
export const IS_WHOLE = String.raw`(({ apply }, { parse }, { toString }) => (script, text) => typeof script === 'function' && apply(toString, script, []) === parse(text))(Reflect, JSON, Function.prototype)`

/**
 * A function that takes a script (as an async function), the JSON text of its names, and the maximum length of the
 * result. It resolves with the JSON text of `{ value }` or of what was thrown, with `null` if null was thrown, or with
 * an empty text if the result is too large. A result is converted to data like that of a module: dates become
 * milliseconds, a Map an object, a Set an array, bytes base64.
 */
export const PRELUDE = String.raw`(() => {
  const { parse, stringify } = JSON, { create, fromEntries, setPrototypeOf } = Object, { ownKeys, defineProperty } = Reflect, { isView } = ArrayBuffer
  const { from, isArray, prototype } = Array, { isSafeInteger } = Number
  const [TheDate, TheMap, TheSet, TheNumber, TheString, TheBuffer, TheView, Bytes, TheProxy] = [Date, Map, Set, Number, String, ArrayBuffer, DataView, Uint8Array, Proxy]
  const [whole, evaluate, kit] = [globalThis, eval, { __proto__: null, Array, Error, Object, Reflect, String, data, stringify }]
  const need = (piece) => evaluate(piece)(kit)

  function data(key, value) {
    const raw = this[key]
    if (typeof raw === 'bigint') return isSafeInteger(TheNumber(raw)) ? TheNumber(raw) : TheString(raw)
    if (typeof raw !== 'object' || raw === null) return value
    if (raw instanceof TheDate) return raw.getTime()
    if (raw instanceof TheMap) return fromEntries(raw)
    const bytes = raw instanceof TheBuffer ? new Bytes(raw) : raw instanceof TheView ? new Bytes(raw.buffer, raw.byteOffset, raw.byteLength) : raw
    if (bytes instanceof Bytes) return (kit.base64 ??= need(${JSON.stringify(BASE64)}))(bytes)
    return raw instanceof TheSet || isView(raw) ? from(raw) : value
  }

  // What is neither an element nor an own property is asked of the prototype: so the list itself stays a plain one, and
  // costs what it did.
  const named = (anyCase) => new TheProxy(create(prototype), { get: (methods, key, list) => (kit.find ??= need(${JSON.stringify(FIND)}))(methods, key, list, anyCase) })

  function nameable({ headers, cookies }) {
    if (isArray(headers)) setPrototypeOf(headers, named(true))
    if (isArray(cookies)) setPrototypeOf(cookies, named(false))
  }

  function failure(thrown) {
    try {
      return need(${JSON.stringify(DESCRIBE_THROWN)})(thrown)
    } catch {
      return '{"name":"Error","message":"something was thrown that can\'t be shown"}'
    }
  }

  return async (script, namesText, bound) => {
    try {
      const names = parse(namesText)
      const set = (name, value) => defineProperty(whole, name, { value, writable: true, enumerable: true, configurable: true })
      if (names.$request) nameable(names.$request)
      set('names', names)
      for (const name of ownKeys(names)) set(name, names[name])
      const text = stringify({ __proto__: null, value: await script.call(names) ?? null }, data)
      if (text.length - 10 > bound) return ''
      return text
    } catch (error) {
      return error === null ? 'null' : failure(error)
    }
  }
})()`
