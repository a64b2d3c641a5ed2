// What a test holds back until it lets it go.

export interface Held<T> {
  readonly promise: Promise<T>
  readonly release: (value: T) => void
}

export function held<T>(): Held<T> {
  const state: { release: (value: T) => void } = { release: () => undefined }
  const promise = new Promise<T>((resolve) => {
    state.release = resolve
  })
  return { promise, release: (value) => state.release(value) }
}

/** One turn of the event loop. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })
