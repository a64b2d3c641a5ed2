// api: which answers to events only say that the event is accepted: it is stored, and is sent to all that it is for
// while the caller has its answer already.
const accepted = new WeakMap<object, Promise<void>>()

/** Notes that the answer says no more than that. `ended`: when this server has no more to do for it; never rejects. */
export function markAccepted<A extends object>(answer: A, ended: Promise<void>): A {
  accepted.set(answer, ended)
  return answer
}

/** When the event of such an answer was sent to all, as far as this server does it; null: it is no such answer. */
export const endOfAccepted = (answer: object): Promise<void> | null => accepted.get(answer) ?? null
