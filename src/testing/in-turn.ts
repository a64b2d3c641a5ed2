// testing: results of a fake, one after the other.

/**
 * Gives the next result at each call: what a function returns, throws what is an Error. `what`: that which has them, for
 * the error when there are no more.
 */
export function inTurn<Given extends unknown[]>(
  results: readonly unknown[],
  what: string,
): (...given: Given) => unknown {
  let count = 0
  return (...given) => {
    if (count === results.length) throw new Error(`${what} has ${count} results, and none for another call`)
    const result = results[count]
    count += 1
    if (result instanceof Error) throw result
    return typeof result === 'function' ? Reflect.apply(result, null, given) : result
  }
}
