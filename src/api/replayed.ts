// api: which answers are repeats of earlier ones, so that HTTP can say so.
const replayed = new WeakSet<object>()

/** Notes that the answer was given before, to the first request under its key. */
export function markReplayed<A extends object>(answer: A): A {
  replayed.add(answer)
  return answer
}

/** Whether that answer was given before. */
export const isReplayed = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && replayed.has(answer)
