// actions: what is inside the sandbox before a script comes. It is JavaScript for QuickJS, and runs anew in each fresh context.

/**
 * Its value is a function that takes a script (as an async function), the text of its names and the bound of the result's length, and promises the text of
 * `{ value }` or `{ name, message }`. It keeps what it needs to itself, since a property may be called `JSON` or `Map`.
 * Data is made of a result like of one that a module returns: dates become milliseconds, Map an object, Set a list.
 */
export const PRELUDE = String.raw`(() => {
  const { parse, stringify } = JSON, { fromEntries } = Object, { ownKeys, defineProperty } = Reflect, { isView } = ArrayBuffer
  const { from } = Array, { isSafeInteger } = Number
  const [TheError, TheDate, TheMap, TheSet, TheNumber, TheString, TheRangeError, whole] = [Error, Date, Map, Set, Number, String, RangeError, globalThis]

  function data(key, value) {
    const raw = this[key]
    if (typeof raw === 'bigint') return isSafeInteger(TheNumber(raw)) ? TheNumber(raw) : TheString(raw)
    if (typeof raw !== 'object' || raw === null) return value
    if (raw instanceof TheDate) return raw.getTime()
    if (raw instanceof TheMap) return fromEntries(raw)
    return raw instanceof TheSet || isView(raw) ? from(raw) : value
  }

  function failure(thrown) {
    try {
      if (thrown instanceof TheError) return stringify({ __proto__: null, name: TheString(thrown.name).slice(0, 200), message: TheString(thrown.message).slice(0, 10000) })
      const text = typeof thrown === 'string' ? thrown : typeof thrown === 'symbol' ? TheString(thrown) : stringify(thrown, data) ?? TheString(thrown)
      return stringify({ __proto__: null, name: 'Error', message: text.slice(0, 10000) })
    } catch {
      return '{"name":"Error","message":"something was thrown that can\'t be shown"}'
    }
  }

  return async (script, namesText, bound) => {
    try {
      const names = parse(namesText)
      const set = (name, value) => defineProperty(whole, name, { value, writable: true, enumerable: true, configurable: true })
      set('names', names)
      for (const name of ownKeys(names)) set(name, names[name])
      const text = stringify({ __proto__: null, value: await script.call(names) ?? null }, data)
      if (text.length > bound) throw new TheRangeError('the result is longer than ' + bound + ' characters')
      return text
    } catch (error) {
      return failure(error)
    }
  }
})()`
