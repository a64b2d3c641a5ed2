// api: what is noted of answers in the engine, so that HTTP can say so.

const accepted = new WeakMap<object, Promise<void>>()

/** Notes that the answer says no more than that. `ended`: when this server has no more to do for it; never rejects. */
export function markAccepted<A extends object>(answer: A, ended: Promise<void>): A {
  accepted.set(answer, ended)
  return answer
}

/** When the event of such an answer was sent to all, as far as this server does it; null: it is no such answer. */
export const endOfAccepted = (answer: object): Promise<void> | null => accepted.get(answer) ?? null

const replayed = new WeakSet<object>()

/** Notes that the answer was given before, to the first request under its key. */
export function markReplayed<A extends object>(answer: A): A {
  replayed.add(answer)
  return answer
}

/** Whether that answer was given before. */
export const isReplayed = (answer: unknown): boolean =>
  typeof answer === 'object' && answer !== null && replayed.has(answer)
