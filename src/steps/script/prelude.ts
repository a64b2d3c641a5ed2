// steps: what is inside the sandbox before a script comes. It is JavaScript for QuickJS, and runs anew in each fresh
// context. What few scripts need is text until one does: QuickJS takes longer to read it all than to run a script. It
// keeps what it needs to itself, since a property may be called `JSON` or `Map`.

/** The base64 of bytes. */
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

/** What a list of a request has under a name, as in expressions; `methods` are those of all lists. */
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

/** The text of what was thrown: `{ name, message, className, stack, fields }`. */
const TOLD = String.raw`({ Array, Error, Object, String, data, stringify }) => {
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
 * Tells whether a function was written as this text (JSON, since a NUL would end it), from its first character to its
 * last. Made before a script that is only parsed: one that isn't whole may have run something.
 */
export const IS_WHOLE = String.raw`(({ apply }, { parse }, { toString }) => (script, text) => typeof script === 'function' && apply(toString, script, []) === parse(text))(Reflect, JSON, Function.prototype)`

/**
 * A function that takes a script (as an async function), the text of its names and the bound of the result's length,
 * and promises the text of `{ value }`, of what was thrown, `null` when that was null, or an empty one when the result
 * is too large. Data is made of a result like of one that a module returns: dates become milliseconds, Map an object,
 * Set a list, bytes base64.
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
      return need(${JSON.stringify(TOLD)})(thrown)
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
